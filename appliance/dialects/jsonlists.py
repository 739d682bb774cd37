"""The elements of a JSON list in their own text. Must not know what they mean. Source: RFC 8259."""

from collections.abc import Iterable

from appliance.dialects.jsonmembers import SPACE, TOKEN


def elements(document: str) -> list[str]:
    """The text of each element of `document`, a valid JSON list, in order. Linear."""
    found: list[str] = []
    depth = begin = 0
    for token in TOKEN.finditer(document):
        what = document[token.start()]
        if what in "]}":
            depth -= 1
        if (what == "," and depth == 1) or (what == "]" and depth == 0):
            text = document[begin : token.start()].strip(SPACE)
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
