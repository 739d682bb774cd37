"""Values that a word beside them gave away, found again wherever they stand in the texts of the call without it.

A number that has a check or a shape of its own is found everywhere by its rule; one that lives by its label (`MRN`,
`tel`) is not, and the next sentence names it without. Must not know any rule.
Source: shield.md ("Detection").
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from appliance.shield.categories import Category
from appliance.shield.finding import Finding

RULE = "found elsewhere in the call"

_WORD = re.compile(r"[^\W_]+")
"""In names of files an underscore parts words."""
_FEWEST = 6
"""Letters and digits of a value that is looked for: a shorter one is written for other things too."""
_MOST_WORDS = 8
_WIDEST_GAP = 2
_KINDS: frozenset[Category] = frozenset(
    {"PHONE", "CREDIT_CARD", "IBAN", "SSN", "MRN", "NIR", "NHS_NUMBER", "VIN", "IP_ADDRESS", "MAC_ADDRESS"}
)
"""Numbers. What a date or a postal code looks like means other things in other places; names have a rule of theirs."""


class KnownValues:
    """Finds the values that were added, in time linear in the text whatever they are."""

    def __init__(self) -> None:
        self._categories: dict[tuple[str, ...], Category] = {}
        self._widths: dict[str, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._categories)

    def add(self, text: str, findings: Iterable[Finding]) -> None:
        """Takes in those of a text's findings that their surroundings decided."""
        for each in findings:
            if not each.context or each.category not in _KINDS:
                continue
            words = tuple(word.upper() for word in _WORD.findall(text[each.start : each.end]))
            value = "".join(words)
            if len(words) > _MOST_WORDS or len(value) < _FEWEST or not any(map(str.isdigit, value)):
                continue
            self._categories.setdefault(words, each.category)
            self._widths.setdefault(words[0], set()).add(len(words))

    def find(self, text: str) -> Iterator[Finding]:
        """Each place where the words of a value stand in a row, with two characters between them at most."""
        if not self._categories:
            return
        places = [found.span() for found in _WORD.finditer(text)]
        for number, (start, end) in enumerate(places):
            for width in self._widths.get(text[start:end].upper(), ()):
                row = places[number : number + width]
                category = self._categories.get(tuple(text[first:last].upper() for first, last in row))
                if category and all(after[0] - before[1] <= _WIDEST_GAP for before, after in pairwise(row)):
                    yield Finding(start, row[-1][1], category, RULE)
