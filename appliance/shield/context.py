"""The words around a place in a text, which decide where the shape of a value alone does not.

Words are compared without accents and case. Must not know which words mean what: each rule brings its own.
Source: shield.md ("Detection": about 40 characters of context).
"""

import re
import unicodedata
from collections.abc import Container

REACH = 40
"""How far a deciding word may be from its value, in characters."""

_WORD = re.compile(r"[^\W\d_]+")


def words_before(text: str, start: int, reach: int = REACH) -> list[str]:
    """The whole words in the `reach` characters before `start`, nearest first, without accents and in lower case."""
    first = max(0, start - reach)
    # A word that the reach cuts in two is none: the end of "hotel" is not "tel".
    if first and text[first - 1].isalpha():
        while first < start and text[first].isalpha():
            first += 1
    words = _words(text[first:start])
    words.reverse()
    return words


def words_after(text: str, end: int, reach: int = REACH) -> list[str]:
    """The same for the characters from `end` on, the nearest first."""
    last = min(len(text), end + reach)
    if last < len(text) and text[last].isalpha():
        while last > end and text[last - 1].isalpha():
            last -= 1
    return _words(text[end:last])


def word_before(text: str, start: int, words: Container[str], reach: int = REACH) -> str:
    """The nearest of `words` before `start`; empty if there is none."""
    return next((word for word in words_before(text, start, reach) if word in words), "")


def word_around(text: str, start: int, end: int, words: Container[str], reach: int = REACH) -> str:
    """The nearest of `words` before `start`, or else after `end`; empty if there is none."""
    after = words_after(text, end, reach)
    return word_before(text, start, words, reach) or next((word for word in after if word in words), "")


def glued_before(text: str, start: int) -> bool:
    """Whether what begins at `start` goes on from a letter, digit or underscore; the `n` of a written-out `\\n`,
    as in the source of a string, is none."""
    if not start or not (text[start - 1].isalnum() or text[start - 1] == "_"):
        return False
    return not escape_before(text, start)


def escape_before(text: str, start: int) -> bool:
    """Whether a written-out `\\n`, `\\r` or `\\t` ends at `start`."""
    return start > 1 and text[start - 2] == "\\" and text[start - 1] in "nrt"


def glued_after(text: str, end: int) -> bool:
    """Whether what ends before `end` goes on with a letter, digit or underscore."""
    return end < len(text) and (text[end].isalnum() or text[end] == "_")


def in_code(text: str, start: int) -> bool:
    """Whether what begins at `start` goes on from a code by a hyphen, as a part of `FA-2024-0012` or of a UUID does.

    A word before the hyphen (`card-4111…`) is a label, unless its letters are hexadecimal with digits among them.
    """
    if start < 2 or text[start - 1] != "-":
        return False
    first = start - 1
    while first and start - first < REACH and (text[first - 1].isalnum() or text[first - 1] == "_"):
        first -= 1
    return any(character.isdigit() for character in text[first : start - 1])


def _words(window: str) -> list[str]:
    if not window.isascii():
        window = "".join(each for each in unicodedata.normalize("NFKD", window) if not unicodedata.combining(each))
    return _WORD.findall(window.lower())
