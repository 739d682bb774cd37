"""The elements of a JSON list in their own text. Must not know what they mean. Source: RFC 8259."""

import re
from collections.abc import Iterable

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
"""A string, or what changes the place. Numbers and words are passed over."""

_SPACE = " \t\r\n"


def elements(document: str) -> list[str]:
    """The text of each element of `document`, a valid JSON list, in order. Linear."""
    found: list[str] = []
    depth = begin = 0
    for token in _TOKEN.finditer(document):
        what = document[token.start()]
        if what in "]}":
            depth -= 1
        if (what == "," and depth == 1) or (what == "]" and depth == 0):
            text = document[begin : token.start()].strip(_SPACE)
            found += [text] if text else []
            begin = token.end()
        elif what in "[{":
            depth += 1
            if depth == 1:
                begin = token.end()
    return found


def joined(elements: Iterable[str]) -> str:
    """A list of these elements."""
    return f"[{','.join(elements)}]"
