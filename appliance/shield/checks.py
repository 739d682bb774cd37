"""Check digits. Each takes the value without separators. Must not know where values stand, or which are personal."""


def luhn(digits: str) -> bool:
    """Whether the last digit checks the others. Source: ISO/IEC 7812-1, annex B."""
    total = sum(map(int, digits[-1::-2]))
    return (total + sum(_DOUBLED[int(digit)] for digit in digits[-2::-2])) % 10 == 0


_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""The sum of the digits of twice a digit."""


def mod_97(value: str) -> bool:
    """Whether the check digits of an IBAN, its third and fourth characters, fit; any case. Source: ISO 13616."""
    moved = value[4:] + value[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1
