"""How a token may be written in an answer: as it was minted, or as a model rewrites it.

Tolerated: capitals or not; brackets or underscores missing, escaped as in Markdown (`\\[EMAIL\\_k3j2h4m5\\]`) or
percent-encoded; and `[EMAIL]` alone. Brackets count in pairs: with one alone, or with none, a token needs a boundary
on both sides, which a JSON escape such as `\\n` is on the left. A backslash before a token that is written as minted
belongs to the text (`C:\\[NAME_p2q7xabc]`). Must not know which tokens a call has. Source: shield.md ("Restoring").
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from appliance.shield.categories import MEDICAL, Category
from appliance.shield.tokens import LONGEST_SUFFIX, SHORTEST_SUFFIX

MINTED = re.compile(
    rf"\[(?:{'|'.join(MEDICAL)})_(?:[0-9]{{4}}_)?[a-z2-7]{{{SHORTEST_SUFFIX},{LONGEST_SUFFIX}}}\]"
)  # fmt: skip
"""A token of any call, as it was minted."""

CONTEXT = 2
"""Characters before a token that decide whether it has a boundary: a letter and the backslash before it."""

_SMALL = 2_000
"""Characters: a text this short is searched as it is."""

_FEWEST_LETTERS = 5
"""Of a suffix: no token is shorter, nor is any that the seed shows."""
_FOLLOWS = frozenset("_\\%]")
"""What may follow the name of a token, beside the suffix."""

_NO_PART = re.compile(r"\\+|%5[Ff]|_|%5?\Z")
"""What a token may or may not be written with."""


class Place(NamedTuple):
    """A place in a text that is written like a token; whether the call has that token is another question.

    The token begins at `start`, with `backslashes` before it that escape its bracket, and ends before `end`. `core` is
    what `core_of` gives; for `[EMAIL]` alone it is `EMAIL`, for `[DATE_1985]` it is `DATE1985`, and `bare` is true.
    """

    start: int
    end: int
    core: str
    bare: bool
    percent: bool
    backslashes: int

    @property
    def first(self) -> int:
        """Where the text before it ends."""
        return self.start - self.backslashes


@dataclass(frozen=True, slots=True)
class Forms:
    """`whole` finds what is written like a token, `core` the same without its brackets and boundaries. `begun` finds,
    at the end of a text, what may become a token with more text, which has at most `longest` characters."""

    whole: re.Pattern[str]
    core: re.Pattern[str]
    begun: re.Pattern[str]
    longest: int


def core_of(written: str) -> str:
    """The same for all ways to write one token: its letters and digits, lower case."""
    return _NO_PART.sub("", written).strip("[]").lower()


@cache
def forms(backslashes: int) -> Forms:
    """The forms with at most so many backslashes before each sign: one in plain text, more inside JSON strings."""
    escape = rf"\\{{0,{backslashes}}}"
    opening, closing, joint = rf"(?:{escape}\[|%5[Bb])", rf"(?:{escape}\]|%5[Dd])", rf"(?:{escape}_|%5[Ff])?"
    boundary = r"(?:(?<!\w)|(?<=\\[bfnrt]))"
    names = "|".join(_name(category, joint) for category in MEDICAL)
    year = rf"(?:[0-9]{{4}}{joint})?"
    core = rf"(?:{names}){joint}{year}[0-9A-Za-z]{{{_FEWEST_LETTERS},{LONGEST_SUFFIX}}}"
    whole = rf"(?:({opening})|{boundary})({core})({closing})?|({opening})((?:{names})(?:{joint}[0-9]{{4}})?)({closing})"
    partly = rf"(?:\\{{1,{backslashes}}}|%5?)?\Z"
    tail = (
        rf"(?:[0-9]{{4}}(?:{partly}|{joint}[0-9A-Za-z]{{0,{LONGEST_SUFFIX}}}(?(1){partly}|\Z))"
        rf"|[0-9A-Za-z]{{0,{LONGEST_SUFFIX}}}(?(1){partly}|\Z))"
    )
    begun = (
        rf"(?:{opening}|\\{{1,{backslashes}}}|%5?)\Z"
        rf"|(?:({opening})|{boundary})({'|'.join(_begun(category, joint, partly, tail) for category in MEDICAL)})"
    )
    longest = max(map(len, MEDICAL)) + LONGEST_SUFFIX + len("1985") + 6 * (backslashes + len("_"))
    return Forms(re.compile(whole), re.compile(core), re.compile(begun), longest)


def places(text: str, at: int, allowed: Forms, categories: Iterable[Category]) -> Iterator[Place]:
    """Every place from `at` on that is written like a token of these categories, in order and apart; those of others
    may be among them. What stands before `at` counts as context alone."""
    for start, end in _windows(text, at, allowed.longest, categories):
        for found in allowed.whole.finditer(text, start, end):
            place = _place(text, found)
            if place is not None:
                yield place


def literals(text: str, allowed: Forms, categories: Iterable[Category]) -> Iterator[str]:
    """What `core_of` gives for all that may be taken for a token of these categories, wherever it is put next."""
    for start, end in _windows(text, 0, allowed.longest, categories):
        yield from map(core_of, allowed.core.findall(text, start, end))


def _windows(text: str, at: int, reach: int, categories: Iterable[Category]) -> Iterator[tuple[int, int]]:
    """Where a token may stand: around the last word of its name. Words are looked for many times faster than tokens."""
    if len(text) - at <= _SMALL:
        yield at, len(text)
        return
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text.replace("İ", "I").lower()  # the one letter that lower() writes with two characters
    start = end = at
    for word in sorted(
        each for category in categories for each in _found(lowered, at, category.split("_")[-1].lower())
    ):
        if word - reach > end:
            if end > start:
                yield start, end
            start = word - reach
        start, end = max(at, start), min(len(text), word + reach)
    if end > start:
        yield start, end


def _found(text: str, at: int, word: str) -> Iterator[int]:
    """Where the last word of a name stands, with something that may go on a token."""
    while (found := text.find(word, at)) >= 0:
        at = found + len(word)
        follows = text[at : at + _FEWEST_LETTERS]
        if follows[:1] in _FOLLOWS or follows.isalnum():
            yield found


def beginning(text: str, at: int, allowed: Forms, cores: Sequence[str]) -> int:
    """Where, from `at` on, something begins that is no token yet and becomes one of `cores` (sorted) with more text;
    the length of the text if nowhere."""
    at = max(at, len(text) - allowed.longest)
    while (found := allowed.begun.search(text, at)) is not None:
        if found[2] is None or begins(core_of(found[2]), cores):
            return found.start()
        at = found.start() + 1
    return len(text)


def begins(core: str, cores: Sequence[str]) -> bool:
    """Whether one of `cores` (sorted) begins so."""
    first = bisect_left(cores, core)
    return first < len(cores) and cores[first].startswith(core)


def _place(text: str, found: re.Match[str]) -> Place | None:
    opening, core, closing, bare_opening, bare, bare_closing = found.groups()
    if bare is not None:
        return _bracketed(found, bare_opening, bare, bare_closing, bare=True)
    if opening is not None and closing is not None:
        return _bracketed(found, opening, core, closing, bare=False)
    start, end = found.span(2)
    if opening is not None and text[start - 1] != "[":
        return None
    if end < len(text) and (text[end].isalnum() or text[end] == "_"):
        return None
    return Place(start, end, core_of(core), False, "%" in core, 0)


def _bracketed(found: re.Match[str], opening: str, core: str, closing: str, *, bare: bool) -> Place:
    start = found.start() + len(opening) - (3 if opening[0] == "%" else 1)
    rewritten = "\\" in core or "\\" in closing
    return Place(
        start,
        found.end(),
        _NO_PART.sub("", core) if bare else core_of(core),
        bare,
        "%" in found[0],
        found[0].index("[") if rewritten and opening[0] == "\\" else 0,
    )


def _name(category: Category, joint: str) -> str:
    return "".join(joint if sign == "_" else f"[{sign}{sign.lower()}]" for sign in category)


def _begun(category: Category, joint: str, partly: str, tail: str) -> str:
    """A pattern for every beginning of a name, up to a token without its last sign."""
    pattern = rf"(?:{partly}|{joint}{tail})"
    for sign in reversed(category):
        pattern = (
            rf"(?:{partly}|{joint}(?:\Z|{pattern}))" if sign == "_" else rf"[{sign}{sign.lower()}](?:\Z|{pattern})"
        )
    return pattern
