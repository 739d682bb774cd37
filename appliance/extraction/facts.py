"""What a fact is. Source: completions.md, "Automatic extraction"."""

from dataclasses import dataclass

MAX_FACTS = 50
"""Facts of one message."""

MAX_KEY, MAX_VALUE = 100, 2_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a user said: `phone`, of the category `contact`, is `06 12 34 56 78`.

    `confidence` is the model's own, from 0 to 1.
    """

    category: str
    key: str
    value: str
    confidence: float
