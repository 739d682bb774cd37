"""Which strings of a Messages body are its structure and no text, which name an end user, and which hold what cannot
be read.

Everything else that a body holds is text, names and ids and fields that nobody knows included, so that nothing leaves
unread. The one exception: thoughts that the provider has signed return to it byte for byte, since it checks its
signature; they are told apart, and whether one really came from there is for others to say. Ids, signatures and what is
encrypted are told apart too, to be read as what is random. Source: shield.md ("What is scanned"); gateway.md
("Sensitive data that is not text"); the types of PyPI `anthropic` 2.14.0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import orjson

from appliance.dialects.anthropic import opaque
from appliance.dialects.bodies import NAME, WORD, Structure, is_file, names_person, place_of
from appliance.dialects.jsontext import KEY, Path

_KINDS: frozenset[tuple[str, ...]] = frozenset(
    {
        ("messages", "role"),
        ("messages", "content", "type"),
        ("messages", "content", "source", "type"),
        ("messages", "content", "content", "type"),
        ("messages", "content", "content", "source", "type"),
        ("messages", "content", "cache_control", "type"),
        ("system", "type"),
        ("system", "cache_control", "type"),
        ("tools", "type"),
        ("tools", "cache_control", "type"),
        ("tool_choice", "type"),
        ("thinking", "type"),
        ("output_config", "effort"),
        ("output_config", "format", "type"),
        ("context_management", "edits", "type"),
        ("service_tier",),
    }
)
"""The places of words out of a closed set, as their paths without the indices."""

_DATED = re.compile(r"[a-z_]{1,32}_20\d{6}")
"""A kind with the day of its version, as in `web_search_20250305`."""

_REPLACED: frozenset[Path] = frozenset({("model",), ("metadata", "user_id")})
"""What never leaves as it is: the provider gets its own model's name, and a keyed hash for a person's."""

_SAID = ("system", "messages", "tools", "tool_choice", "output_config", "output_format")
"""Members whose texts a model reads: a `user` in them is a word of the conversation."""

_DOCUMENTS = frozenset({("messages", "content", "input"), ("tools", "input_examples")})
"""What a tool was given, or would be: documents of their own."""

_DOCUMENT_NAMES = frozenset(place[-1:] for place in _DOCUMENTS)

_BASE64 = re.compile(r"[A-Za-z0-9+/_=\-\s]*")

_PROOFS = {"thinking": "signature", "redacted_thinking": "data"}
"""The member of a thought that only its provider can have made: a signature, or the whole thought, encrypted."""


def structure(body: str) -> Structure:
    """Of this body, a valid JSON object: blocks say what their strings are."""
    signed: set[tuple[Path, str]] = set()
    encoded: set[tuple[Path, str]] = set()
    proofs: set[tuple[Path, str]] = set()
    thoughts: list[str] = []
    for path, block in _blocks(cast("object", orjson.loads(body)), ()):
        if block.get("type") == "base64" and isinstance(block.get("data"), str):
            encoded.add(((*path, "data"), str(block["data"])))
        if len(path) == 4 and place_of(path) == ("messages", "content"):
            name, proof = _proof(block)
            thought = block.get("thinking")
            if name:
                proofs.add(((*path, name), proof))
            if name == "signature" and isinstance(thought, str):
                signed.add(((*path, "thinking"), thought))
                thoughts.append(thought)

    def is_text(path: Path, text: str) -> bool:
        """An empty string says nothing."""
        if path[-1] == KEY:
            return NAME.fullmatch(text) is None
        # With its text, since a member may stand there twice, and only the last one counts.
        if not text or (path, text) in signed or (len(path) <= 2 and path in _REPLACED):
            return False
        word = WORD.fullmatch(text) or _DATED.fullmatch(text)
        return word is None or place_of(path) not in _KINDS

    def is_unscannable(path: Path, text: str) -> bool:
        return ((path, text) in encoded and _BASE64.fullmatch(text) is not None) or is_file(text)

    def is_opaque(path: Path, text: str) -> bool:
        return (path, text) in proofs or opaque.is_opaque(path, text)

    return Structure(is_text, _is_end_user, is_unscannable, _is_document, thoughts, is_opaque)


def is_signed(block: Mapping[str, object]) -> bool:
    """Whether a block of an earlier answer is a thought that somebody has signed, or encrypted."""
    return block.get("type") == "redacted_thinking" or (
        block.get("type") == "thinking" and block.get("signature") not in (None, "")
    )


def _proof(block: Mapping[str, object]) -> tuple[str, str]:
    """The member of a thought that shows whose it is, and what it says; empty where there is none."""
    kind = block.get("type")
    name = _PROOFS.get(kind, "") if isinstance(kind, str) else ""
    proof = block.get(name)
    return (name, proof) if isinstance(proof, str) and opaque.is_encrypted(proof) else ("", "")


def _is_end_user(path: Path) -> bool:
    return path[0] not in _SAID and path[-1] != KEY and names_person(place_of(path))


def _is_document(path: Path) -> bool:
    return path[-1:] in _DOCUMENT_NAMES and place_of(path) in _DOCUMENTS


def _blocks(value: object, path: Path) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """Every object of a document, with its path."""
    waiting: list[tuple[Path, object]] = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            yield path, fields
            inside: Iterable[tuple[str | int, object]] = fields.items()
        else:
            inside = enumerate(cast("list[object]", value))
        waiting += [((*path, step), inner) for step, inner in inside if isinstance(inner, dict | list)]
