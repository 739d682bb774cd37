"""Finds telephone and fax numbers: with a prefix, in a country's spelling, or any number beside a word for one.

Source: shield.md ("Detection"). What is *possible* counts, never what is given out: people mistype and invent numbers.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from appliance.shield import phone_shapes, phone_words
from appliance.shield.context import glued_before, in_code, words_after, words_before
from appliance.shield.finding import Finding
from appliance.shield.phone_edges import decimal_or_glued, extended, in_longer
from appliance.shield.phone_labels import field_after
from appliance.shield.phone_labels import label as label_before
from appliance.shield.phone_prefixes import PATTERN as PREFIXED
from appliance.shield.phone_prefixes import prefixed

_CHAIN = re.compile(rf"[+(0-9O](?:{phone_shapes.JOINT}(?:[0-9]|O(?![A-Za-z]))){{5,}}+")
"""Six digits or more with at most one sign between: everything that follows looks into these alone."""

_BARE = "0[1-9][0-9]{8}(?![0-9])"
_AMOUNT = re.compile(r"[1-9](?:[ .][0-9]{3})+|[1-9][0-9]{0,2}[ .]000(?:[ .]000)?")
"""Thousands and millions; 963 862 000 is none, since nine digits are a number in several countries."""
_ALL_DIGITS = "0123456789"
_DIGITS = re.compile(r"[0-9]+")
_MOST_GROUPS = 10

_UNIT_AFTER = re.compile(r" ?(?:[€$£%]|EUR\b|USD\b|GBP\b|CHF\b|PLN\b|zł\b|euros?\b|[kmµ]?[gl]\b|[kM]?[Bb](?:ytes)?\b)")
_DATE = re.compile(
    r"(?<![0-9])(?:(?:0?[1-9]|[12][0-9]|3[01])([./\-])(?:0?[1-9]|1[0-2])\1(?:(?:19|20)[0-9]{2}|[0-9]{2})(?![0-9]|[./\-][0-9])"
    r"|(?:0?[1-9]|1[0-2])([/\-])(?:0?[1-9]|[12][0-9]|3[01])\2(?:(?:19|20)[0-9]{2}|[0-9]{2})(?![0-9]|[./\-][0-9])"
    r"|[0-9]{2}([/\-])(?:0[1-9]|1[0-2])\3(?:0[1-9]|[12][0-9]|3[01])(?![0-9./\-])"
    r"|(?:19|20)[0-9]{2}([./\-])(?:0?[1-9]|1[0-2])\4(?:0?[1-9]|[12][0-9]|3[01])(?![0-9])"
    r"|(?:19|20)[0-9]{2}[ \-/](?:19|20)[0-9]{2}(?![0-9])"
    r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?![0-9]))"
)
_DAY_AND_YEAR = re.compile(r"(?:0?[1-9]|[12][0-9]|3[01])[ \-](?:19|20)[0-9]{2}")
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}(?![0-9])")

_FEWEST, _FEWEST_BARE, _FEWEST_ASKED, _MOST = 6, 7, 9, 12
"""Digits of a number beside a word: in groups, together, together beside a mere request to call; most of one."""
_BESIDE = 16
"""How near a word for another kind of number forbids a French one without separators, after it, in characters."""


def rule(country: str) -> Callable[[str], Iterator[Finding]]:
    """The rule where `country` (ISO 3166, two letters) is home: only its numbers are known without prefix or word
    in spellings that other numbers have too."""
    home = phone_shapes.home_pattern(country)
    shapes = re.compile(
        rf"(?:(?<!\w)|(?<=\\[nrt])|(?<=[Tt][Ee][Ll])|(?<=[Ff][Aa][Xx])|(?=\+))(?:(?P<prefixed>{PREFIXED})|(?P<french>{phone_shapes.FRENCH}|{_BARE})"
        rf"|(?P<trunk>{phone_shapes.trunk_pattern()})|(?P<american>{phone_shapes.NORTH_AMERICAN})"
        + (rf"|(?P<home>{home}))" if home else ")")
    )

    def find(text: str) -> Iterator[Finding]:
        for chain in _CHAIN.finditer(text):
            yield from _in_chain(text, chain.start(), chain.end(), shapes)

    return find


def _in_chain(text: str, start: int, stop: int, shapes: re.Pattern[str]) -> list[Finding]:
    found: list[Finding] = []
    at, last = start, min(len(text), stop + 1)
    while at + _FEWEST < last and (shape := shapes.search(text, at, last)):
        finding = _shaped(text, shape, shapes, stop, found[-1].end if found else -1)
        if finding:
            found.append(finding)
        # What is refused may have begun with a date or another number before the real one.
        at = finding.end if finding else _after_group(text, shape.start())
    if not found and (finding := _labelled(text, start, stop)):
        found.append(finding)
    return found


def _after_group(text: str, start: int) -> int:
    group = _GROUP.match(text, start)
    return group.end() if group else start + 1


_GROUP = re.compile(r"[+(]*[0-9O]+")


def _shaped(text: str, shape: re.Match[str], shapes: re.Pattern[str], stop: int, ended: int) -> Finding | None:
    start, end = shape.span()
    kind = shape.lastgroup
    end = min(end, stop)
    if kind == "prefixed":
        return prefixed(text, start, stop, shapes)
    bare = text[start:end].isdigit()
    if in_longer(text, start, end, ended, shapes) or _DATE.match(text, start):
        return None
    if kind != "french" and _numbered(text, start, end):
        return None
    word = ""
    if bare:
        if text[start:end] == _ALL_DIGITS:
            return None
        label, other = label_before(text, start)
        if other or (not label and any(each in phone_words.OTHER for each in words_after(text, end, _BESIDE))):
            return None
        word = label
    return Finding(start, extended(text, end), "PHONE", _RULES[kind or ""], word)


_RULES = {
    "french": "French number",
    "trunk": "national number with its 0",
    "american": "North American number",
    "home": "number of the home country",
}


def _numbered(text: str, start: int, end: int) -> bool:
    """Whether a spelling that is not only a telephone's is a ZIP code, an amount, or right after what it numbers."""
    if _ZIP.match(text, start) or _UNIT_AFTER.match(text, end):
        return True
    words = words_before(text, start, _RIGHT_BEFORE)
    return bool(words) and words[0] in phone_words.NUMBERED


_ZIP = re.compile(r"[0-9]{5}-[0-9]{4}(?![0-9])")
"""A postal code of the United States, ZIP+4, of which those in the north-east begin with 0."""
_RIGHT_BEFORE = 12
"""How near the word before must be, in characters: the word itself, a colon and spaces, `n°`."""


def _labelled(text: str, start: int, stop: int) -> Finding | None:
    """Any number beside a word for one, which is not plainly something else."""
    if text[start] in "+O":
        return None
    label, other = label_before(text, start)
    if other or not (label or (label := field_after(text, stop))):
        return None
    end = _whole(text, start, stop)
    if not end or _other_number(text, start, end):
        return None
    if label in phone_words.REQUESTS and text[start:end].isdigit() and end - start < _FEWEST_ASKED:
        return None
    if text[start] == "(" and ")" not in text[start:end]:
        start += 1
    return Finding(start, extended(text, end), "PHONE", "number beside a word for one", label)


def _whole(text: str, start: int, stop: int) -> int:
    """Where a number that may be any ends: at a group, with so many digits; 0 if it has too few or too many."""
    count = end = groups = 0
    for group in islice(_DIGITS.finditer(text, start, stop), _MOST_GROUPS):
        width = group.end() - group.start()
        if count + width > _MOST or (width == 1 and groups and (groups > 1 or text[start] != "(")):
            break
        count, end, groups = count + width, group.end(), groups + 1
    return end if count >= (_FEWEST if groups > 1 else _FEWEST_BARE) else 0


def _other_number(text: str, start: int, end: int) -> bool:
    """Whether this is a date, an amount, an address, a decimal number, or part of something longer."""
    if glued_before(text, start) or in_code(text, start) or _OTHER_BEFORE.search(text, max(0, start - 2), start):
        return True
    if _DATE.search(text, start, end + 2) or _IPV4.match(text, start) or _UNIT_AFTER.match(text, end):
        return True
    value = text[start:end]
    if _AMOUNT.fullmatch(value) or _DAY_AND_YEAR.fullmatch(value) or len(set(value) & set(" .-/")) > _MOST_SIGNS:
        return True
    if "/" in value and sum(map(str.isdigit, value)) < _FEWEST_BARE:
        return True
    if decimal_or_glued(text, end) or _GOES_ON.match(text, end):
        return True
    return value.count(".") == 1 and value.replace(".", "").isdigit()


_OTHER_BEFORE = re.compile(r"(?:[#$€£]|[0-9][.,:/\-]|[^\W\d_]-)\Z")
_MOST_SIGNS = 2
"""Different ones within a number: more are two numbers, or a number and a date."""
_GOES_ON = re.compile(r"[.\-/][0-9]")
