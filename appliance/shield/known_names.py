"""Finds names that are known already, wherever they stand: those found elsewhere in a call, and an administrator's.

Words are looked up one by one, so that a thousand names cost as much as one. Must not know how names are found first.
Source: shield.md ("Detection": each part is propagated through the call).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from appliance.shield.finding import Finding
from appliance.shield.lexicon import PARTICLES, Lexicon, fold

MIN_PART = 3
"""Letters. Shorter parts stand in too many other words."""

MIN_SMALL_PART = 4
"""Letters of a part that is found in small letters too."""

_WORD = re.compile(r"[^\W\d_]+")
_LAST_WORD = re.compile(r"[^\W\d_]{1,3}\Z")
_SMALL_GAP = re.compile(r"[ ]{1,2}|-|['’]")
_AFTER_INITIAL = re.compile(r"\.[ ]?")

MAX_INITIAL = 2
"""Letters of an initial (`J.`, `Ph.`). After a longer word a full stop ends the sentence, and the name with it."""


def parts_of(name: str, lexicon: Lexicon) -> Iterator[str]:
    """The given names and surnames of a name, one by one: no particles, no titles, no words that mean something."""
    for part in _WORD.findall(name):
        folded = fold(part)
        if len(part) < MIN_PART or folded in PARTICLES:
            continue
        if folded not in lexicon.clinical and folded not in lexicon.institutions:
            yield part


class Known:
    """Spellings of words, each with the names that begin with it; a name is the list of its words."""

    def __init__(self, spellings: dict[str, list[tuple[str, ...]]], rule: str, *, folding: bool) -> None:
        self._spellings = spellings
        self._rule = rule
        self._folding = folding

    @classmethod
    def whole(cls, names: Sequence[str], rule: str) -> "Known":
        """Whole names, in any case and with or without accents."""
        spellings: dict[str, list[tuple[str, ...]]] = {}
        for name in names:
            words = tuple(fold(word) for word in _WORD.findall(name))
            if words:
                spellings.setdefault(words[0], []).append(words)
        for several in spellings.values():
            several.sort(key=len, reverse=True)
        return cls(spellings, rule, folding=True)

    @classmethod
    def parts(cls, parts: Iterable[str], lexicon: Lexicon) -> "Known":
        """Single words, with a capital or in capitals; in small letters only where they mean nothing else."""
        spellings: dict[str, list[tuple[str, ...]]] = {}
        for part in parts:
            folded = fold(part)
            forms = {part.title(), part.upper(), folded.title(), folded.upper()}
            forms |= {part} if part[:1].isupper() else set()
            if len(part) >= MIN_SMALL_PART and _means_nothing(folded, lexicon):
                forms |= {part.lower(), folded}
            for form in forms:
                spellings[form] = []
        return cls(spellings, "named elsewhere in the call", folding=False)

    def find(self, text: str) -> Iterator[Finding]:
        """What stands side by side is one name, as it was where it was found first."""
        if not self._spellings:
            return
        start = end = -1
        for first, last in self._places(text):
            if end >= 0 and not self._folding and _goes_on(text, start, end, first):
                end = last
                continue
            if end >= 0:
                yield Finding(start, end, "NAME", self._rule)
            start, end = first, last
        if end >= 0:
            yield Finding(start, end, "NAME", self._rule)

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        if not self._folding:
            spellings = self._spellings
            yield from (word.span() for word in _WORD.finditer(text) if word[0] in spellings)
            return
        words = [(fold(word[0]), *word.span()) for word in _WORD.finditer(text)]
        for at, (word, start, _) in enumerate(words):
            for name in self._spellings.get(word, ()):
                here = words[at : at + len(name)]
                if tuple(each[0] for each in here) == name and _together(text, here):
                    yield start, here[-1][2]
                    break


def _together(text: str, words: list[tuple[str, int, int]]) -> bool:
    """Whether nothing but a space, a hyphen or the like is between the words."""
    return all(_goes_on(text, one[1], one[2], other[1]) for one, other in pairwise(words))


def _goes_on(text: str, start: int, end: int, following: int) -> bool:
    """Whether the name in `text[start:end]` goes on with the word at `following`."""
    if _SMALL_GAP.fullmatch(text, end, following):
        return True
    last = _LAST_WORD.search(text, start, end)
    initial = last is not None and len(last[0]) <= MAX_INITIAL
    return initial and _AFTER_INITIAL.fullmatch(text, end, following) is not None


def _means_nothing(folded: str, lexicon: Lexicon) -> bool:
    return not lexicon.is_word(folded) and folded not in lexicon.places
