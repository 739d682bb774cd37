"""The kinds of personal values, and which of them each mode masks. Source: synapse.md ("PII shield", "Modes")."""

from collections.abc import Mapping
from typing import Literal

RULES = "1"
"""Version of the rules, which every certificate names: it counts up whenever they find other values."""

Category = Literal[
    "EMAIL", "PHONE", "CREDIT_CARD", "IBAN", "SSN", "IP_ADDRESS", "MAC_ADDRESS",
    "NAME", "DATE", "AGE", "ZIP", "URL", "MRN", "NIR", "NHS_NUMBER", "VIN",
]  # fmt: skip
Mode = Literal["standard", "medical", "off"]

STANDARD: tuple[Category, ...] = ("EMAIL", "PHONE", "CREDIT_CARD", "IBAN", "SSN", "IP_ADDRESS", "MAC_ADDRESS")
MEDICAL: tuple[Category, ...] = (
    *STANDARD, "NAME", "DATE", "AGE", "ZIP", "URL", "MRN", "NIR", "NHS_NUMBER", "VIN",
)  # fmt: skip

BY_MODE: Mapping[Mode, tuple[Category, ...]] = {"off": (), "standard": STANDARD, "medical": MEDICAL}

PRIORITY: tuple[Category, ...] = (
    "EMAIL", "URL", "IBAN", "NIR", "CREDIT_CARD", "VIN", "MAC_ADDRESS", "NHS_NUMBER", "MRN", "SSN", "IP_ADDRESS",
    "DATE", "PHONE", "NAME", "ZIP", "AGE",
)  # fmt: skip
"""Whose name an overlap bears: a value with a check or a rigid shape before one that lives by its context."""
