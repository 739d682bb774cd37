"""Which strings of a body of `POST /v1/ai/complete` are its structure and no text, and which hold what cannot be read.

Everything else that a body holds is text, fields that nobody knows included, but not what is to be extracted: that goes
out with the extraction alone, which is a call of its own with a shield of its own. The body itself is never forwarded,
so that nothing in it needs to be told apart but what the shield reads.

Source: completions.md ("Request body"); shield.md ("What is scanned").
"""

from appliance.dialects.bodies import NAME, WORD, Structure, is_file, place_of
from appliance.dialects.jsontext import KEY, Path

_KINDS: frozenset[tuple[str, ...]] = frozenset({("messages", "role"), ("supplementary", "priority")})
"""The places of words out of a closed set, as their paths without the indices."""

_EXTRACTION = "extraction"

_DATA = ("supplementary", "data")


def is_text(path: Path, text: str) -> bool:
    """Whether the shield has to read this string of a body. An empty one says nothing."""
    if not text or path[0] == _EXTRACTION:
        return False
    if path[-1] == KEY:
        return NAME.fullmatch(text) is None
    return WORD.fullmatch(text) is None or place_of(path) not in _KINDS


def is_document(path: Path) -> bool:
    """Whether the object or list at this path is a block's data, whose names say what their values are."""
    return path[-1:] == _DATA[-1:] and place_of(path) == _DATA


def structure(_: str) -> Structure:
    """Of any body: here a path alone says what a string is."""
    return Structure(is_text, lambda _: False, lambda _, text: is_file(text), is_document)
