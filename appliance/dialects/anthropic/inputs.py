"""What tools were given, in its own text, where reading it would change a number.

An integer that does not fit into 64 bits is read as a float, and a tool that gave such an id would not know it again.
Source: RFC 8259, section 6; the library orjson.
"""

import re
from collections.abc import Mapping

from appliance.dialects.jsonlists import elements
from appliance.dialects.jsonmembers import member

_LONG = re.compile(rb"[0-9]{19}")
"""Digits in a row as every integer beyond 63 bits has them, and hardly a body."""


def long_inputs(body: bytes) -> Mapping[str, str]:
    """The `input` of every block of a Messages body that is a valid JSON object, by the block's path, as in
    `messages[1].content[0]`; none at all where no number can be so long. Linear."""
    if not _LONG.search(body):
        return {}
    found: dict[str, str] = {}
    for i, message in enumerate(_listed(body.decode(), "messages")):
        if not message.startswith("{"):
            continue
        for j, block in enumerate(_listed(message, "content")):
            given = member(block, "input") if block.startswith("{") else None
            if given is not None:
                found[f"messages[{i}].content[{j}]"] = given
    return found


def _listed(document: str, name: str) -> list[str]:
    """The elements of a member that is a list."""
    text = member(document, name) or ""
    return elements(text) if text.startswith("[") else []
