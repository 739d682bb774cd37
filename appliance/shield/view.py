"""A text as a reader sees it, for rules to look at, with a way back to the offsets of what was written.

Full-width and other digits and letters, the many spaces and hyphens become the plain ones; hidden characters vanish;
HTML entities, `%40` and JSON's `\\u0040` become what they stand for. Pure; must not know what is looked for.
Source: shield.md ("What is scanned"); the Unicode character database.
"""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

_HIDDEN = "\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
"""Characters that a reader does not see, as ranges: joiners, marks of direction, selectors of a variant."""

_HIDDEN_CHARACTER = re.compile(f"[{_HIDDEN}]")

_HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_DOTS = "\u3002\uff61\uff0e\u2024"


_ASTRAL = range(0x1D400, 0x1D800)
"""Mathematical letters and digits, which are the odd characters outside of the first plane."""


def _plain_forms(codes: Iterable[int]) -> dict[str, str]:
    """One plain character for each odd one: spaces, digits of all scripts, full-width and mathematical letters."""
    plain: dict[str, str] = {}
    for code in codes:
        character = chr(code)
        if unicodedata.category(character) == "Zs":
            plain[character] = " "
        elif (digit := unicodedata.decimal(character, None)) is not None:
            plain[character] = str(digit)
        elif 0xFF01 <= code <= 0xFF5E or code in _ASTRAL:
            plain[character] = unicodedata.normalize("NFKC", character)
    return plain


_PLAIN_FIRST = _plain_forms(range(0x80, 0x10000)) | dict.fromkeys(_HYPHENS, "-") | dict.fromkeys(_DOTS, ".")
_ODD = re.compile("[" + re.escape("".join(_PLAIN_FIRST)) + "]")
# Apart, since a class of the first plane alone is looked up in a table, and any other is gone through one by one.
_ODD_ASTRAL = re.compile(f"[{chr(_ASTRAL[0])}-{chr(_ASTRAL[-1])}]")
_PLAIN = _PLAIN_FIRST | _plain_forms(_ASTRAL)

_ESCAPED = re.compile(
    rf"[A-Za-z][\u0300-\u034e\u0350-\u036f]{{1,3}}|[{_HIDDEN}]"
    r"|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});|%40|\\u[0-9a-fA-F]{4}"
)
"""What takes another number of characters than it shows."""


@dataclass(frozen=True, slots=True)
class View:
    """`text` is what rules read; `original` turns places in it into places in what was written.

    The other fields are parallel: where in `text` a stretch begins, where that stands in what was written, and, for a
    stretch that was escaped, where its escape ends; 0 for one that stands as it was written.
    """

    text: str
    _seen: tuple[int, ...] = ()
    _written: tuple[int, ...] = ()
    _ends: tuple[int, ...] = ()

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The place of `text[start:end]`, which is not empty, in what was written: whole escapes, hidden parts too."""
        if not self._seen:
            return start, end
        first = bisect_right(self._seen, start) - 1
        begins = self._written[first] + (0 if self._ends[first] else start - self._seen[first])
        last = bisect_right(self._seen, end - 1) - 1
        return begins, self._ends[last] or self._written[last] + end - self._seen[last]


def view_of(text: str) -> View:
    """Linear in the text; a text without odd characters is its own view."""
    plain = text if text.isascii() else _plainly(text)
    if text.isascii() and "&" not in text and "%40" not in text and "\\u" not in text:
        return View(plain)
    parts: list[str] = []
    seen, written, ends = [0], [0], [0]
    length = at = 0
    for escape in _ESCAPED.finditer(plain):
        shown = _shown(escape[0])
        if shown == escape[0]:
            continue
        before = plain[at : escape.start()]
        parts += (before, shown)
        length += len(before)
        if shown:
            seen.append(length)
            written.append(escape.start())
            ends.append(escape.end())
            length += len(shown)
        at = escape.end()
        seen.append(length)
        written.append(at)
        ends.append(0)
    if not at:
        return View(plain)
    return View("".join([*parts, plain[at:]]), tuple(seen), tuple(written), tuple(ends))


def _plainly(text: str) -> str:
    """The text with as many characters, the odd ones plain."""
    for odd in (_ODD, _ODD_ASTRAL):
        text = odd.sub(lambda found: _PLAIN[found[0]], text)
    return text


def _shown(escape: str) -> str:
    """What a reader of the escape sees; itself where it means nothing, or half of a character."""
    if escape == "%40":
        return "@"
    if escape[0] == "\\":
        character = chr(int(escape[2:], 16))
        return escape if "\ud800" <= character <= "\udfff" else _seen(character)
    if escape[0] == "&":
        shown = html.unescape(escape)
        return shown if shown == escape else "".join(map(_seen, shown))
    if escape[0].isalpha():
        return unicodedata.normalize("NFC", escape)
    return ""


def _seen(character: str) -> str:
    return "" if _HIDDEN_CHARACTER.match(character) else _PLAIN.get(character, character)
