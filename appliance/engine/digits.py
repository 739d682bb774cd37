"""Ranges of numbers as grammar: which digits may follow which, so that a bound holds. Pure.

Whole numbers have at most 16 digits here, as in llama.cpp's own JSON grammar, so a bound beyond them binds nothing.
"""

from collections.abc import Iterator

LARGEST = 10**16 - 1
"""The largest number of 16 digits."""

_FRACTION = '("." [0-9]{1,16})?'
_NO_FRACTION = '("." "0"{1,16})?'


def integers(least: int | None, most: int | None) -> str:
    """The whole numbers from `least` to `most`, which must not be empty."""
    parts: list[str] = []
    if least is None or least < 0:
        nearest = 1 if most is None else max(1, -most)
        parts.append(f'"-" ({_naturals(nearest, None if least is None else -least)})')
    if most is None or most >= 0:
        parts.append(_naturals(max(least or 0, 0), most))
    return " | ".join(parts)


def numbers(least: int | None, most: int | None) -> str:
    """The decimal numbers from `least` to `most`, both included, which must not be empty."""
    parts: list[str] = []
    if least is None or least < 0:
        nearest = 0 if most is None else max(0, -most)
        parts.append(f'"-" ({_decimals(nearest, None if least is None else -least)})')
    if most is None or most >= 0:
        parts.append(_decimals(max(least or 0, 0), most))
    return " | ".join(parts)


def _decimals(least: int, most: int | None) -> str:
    """Decimals without a sign: those below `most` with any fraction, `most` itself with none."""
    if most is None:
        return f"({_naturals(least, None)}) {_FRACTION}"
    top = f"{_digits(most)} {_NO_FRACTION}"
    return top if least == most else f"({_naturals(least, most - 1)}) {_FRACTION} | {top}"


def _naturals(least: int, most: int | None) -> str:
    if most is not None and most <= LARGEST:
        return " | ".join(_blocks(least, most))
    length = len(str(least))
    longer = [f"[1-9] [0-9]{{{length},15}}"] if length < len(str(LARGEST)) else []
    return " | ".join([*_blocks(least, 10**length - 1), *longer])


def _blocks(least: int, most: int) -> Iterator[str]:
    """Splits a range into blocks such as 150 to 199, of which each is some digits, a range of digits and any digits."""
    if least == 0:
        yield '"0"'
        least = 1
    while least <= most:
        size = 1
        while least % (size * 10) == 0 and least + size * 10 - 1 <= most:
            size *= 10
        first = last = least // size % 10
        while last < 9 and least + (last - first + 2) * size - 1 <= most:
            last += 1
        prefix = least // size // 10
        any_digits = f" [0-9]{{{len(str(size)) - 1}}}" if size > 1 else ""
        yield f"{_digits(prefix) if prefix else ''} [{first}-{last}]{any_digits}".strip()
        least += (last - first + 1) * size


def _digits(number: int) -> str:
    return f'"{number}"'
