"""Vehicle identification numbers: 17 characters with a check digit, or any 17 beside their label.

Source: shield.md ("Detection"); ISO 3779 and, for the check digit, 49 CFR 565.15.
"""

import re
from collections.abc import Iterator

from appliance.shield.finding import Finding
from appliance.shield.med_context import before, nearest

LENGTH = 17

_SHAPE = re.compile(r"(?<![\w-])[A-HJ-NPR-Z0-9]{17}(?![\w-])", re.IGNORECASE)
_LABEL = re.compile(
    r"(?<!\w)(?:vin|vehicle id\w*|chassis|châssis|fahrgestell\w*|fin|bastidor|telaio|chassi\w*|nadwozia)(?!\w)",
    re.IGNORECASE,
)
_LETTERS = ("", "AJ", "BKS", "CLT", "DMU", "ENV", "FW", "GPX", "HY", "RZ")
"""The letters that stand for each digit."""

_VALUES = {each: digit for digit, letters in enumerate(_LETTERS) for each in (*letters, str(digit))}
_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def find(text: str) -> Iterator[Finding]:
    """Linear in the text's length."""
    for match in _SHAPE.finditer(text):
        if label := nearest(_LABEL, before(text, match.start())):
            yield Finding(*match.span(), "VIN", "label", label)
        elif is_vin(match[0]):
            yield Finding(*match.span(), "VIN", "17 characters and check digit")


def is_vin(value: str) -> bool:
    """Whether the ninth character checks the others. A number without letters, or a word without digits, is none."""
    value = value.upper()
    if len(value) != LENGTH or value.isdigit() or value.isalpha():
        return False
    rest = sum(_VALUES[each] * weight for each, weight in zip(value, _WEIGHTS, strict=True)) % 11
    return value[8] == ("X" if rest == 10 else str(rest))
