"""Words joined by underscores and hyphens, as names of files are, read as if they stood apart: `appel_0612345678.wav`.

For a rule a value begins and ends where a word does; in programs an underscore is a part of a word, and what hyphens
join is a code. Must not know the rules. Source: shield.md ("Detection").
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from appliance.shield.finding import Finding

Rule = Callable[[str], Iterable[Finding]]
"""Finds the values of one kind, in any order. It reads a view's text, and need not care about overlaps."""

_ENDS = r"\s\"'`<>|,;()\[\]{}=/\\"
"""What parts a name of a file from what is around it, where people write it without spaces and brackets."""
_RUN = re.compile(rf"(?<![^{_ENDS}])[^{_ENDS}_\-]*[_\-][^{_ENDS}]*")
_LONGEST = 255
"""Characters; what is longer is no name."""
_SUFFIX = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9]{1,4}){1,2}\Z")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-|-(?=[^\W\d_])")
"""Beside a word; between digits it is a part of a number."""
_DIGIT = re.compile(r"[0-9]")
_FEWEST_DIGITS = 6


def find(text: str, rules: Sequence[Rule], number_rules: Sequence[Rule]) -> Iterator[Finding]:
    """What the rules find in each run of joined words by itself. Linear.

    `rules` are asked where it is plainly the name of a file, `number_rules`, whose values have six digits at least,
    wherever there are so many. What hyphens join counts in names of files, and for these numbers, alone.
    """
    if "_" not in text and "-" not in text:
        return
    for run in _RUN.finditer(text):
        name = run[0]
        if len(name) > _LONGEST:
            continue
        suffix = _SUFFIX.search(name)
        apart = (name[: suffix.start()] if suffix else name).replace("_", " ")
        if suffix and "_" in name:
            yield from _moved(rules, apart, run.start())
        if ("_" in name or suffix) and len(_DIGIT.findall(name)) >= _FEWEST_DIGITS:
            yield from _moved(number_rules, _HYPHEN.sub(" ", apart) if suffix else apart, run.start())


def _moved(rules: Sequence[Rule], text: str, by: int) -> Iterator[Finding]:
    for rule in rules:
        for each in rule(text):
            yield each._replace(start=each.start + by, end=each.end + by)
