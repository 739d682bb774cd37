"""Whatever a body is, nothing in it leaves unread but what the documents say.

Sources: shield.md ("What is scanned"); gateway.md ("Sensitive data that is not text"). The oracle is `json`, which is
asked for every member as the bytes have it, those that come twice included.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.dialects.anthropic.structure import structure
from appliance.dialects.jsontext import JsonText

MAIL = "jane@example.org"
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYdsEqQ=="
NAME = "the name of a member"

Path = tuple[str | int, ...]


class Members(list[tuple[str, Any]]):
    """An object: a member may stand in it twice."""


NAMES = st.sampled_from([
    "messages", "role", "content", "type", "text", "thinking", "signature", "data", "source", "input", "system",
    "tools", "input_examples", "metadata", "user_id", "model", "cache_control", "tool_choice", "service_tier", "name",
    "output_config", "effort", "context_management", "edits", "mcp_servers", "unknown", MAIL,
])  # fmt: skip
STRINGS = st.sampled_from([
    MAIL, MAIL, "thinking", "redacted_thinking", "text", "base64", "tool_use", SIGNATURE, "AAAA", "x", "",
    json.dumps({"type": "thinking", "thinking": MAIL, "signature": SIGNATURE}), json.dumps([MAIL]),
])  # fmt: skip
TEXTS = st.sampled_from([MAIL, MAIL, SIGNATURE, "x"])
KINDS = st.sampled_from(["thinking", "redacted_thinking", "text", "tool_use"])
PAIRS = st.tuples(st.just("type"), KINDS) | st.tuples(st.sampled_from(["thinking", "signature", "data", "text"]), TEXTS)
SIGNED = st.builds(
    lambda before, thought, after: Members([*before, *thought, *after]),
    st.lists(PAIRS, max_size=3),
    st.permutations([("type", "thinking"), ("thinking", "x"), ("signature", SIGNATURE)])
    | st.permutations([("type", "thinking"), ("thinking", MAIL), ("signature", SIGNATURE)])
    | st.permutations([("type", "redacted_thinking"), ("data", SIGNATURE), ("thinking", MAIL)]),
    st.lists(PAIRS, max_size=1),
)
"""Thoughts, of which any member may stand there twice and say something else."""
ANY = st.recursive(
    STRINGS | st.integers(0, 9) | st.none() | SIGNED,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(NAMES, inner), max_size=4).map(Members),
    max_leaves=8,
)
BLOCKS = SIGNED | st.lists(PAIRS | st.tuples(NAMES, ANY), min_size=2, max_size=7).map(Members)
CONTENTS = st.lists(st.lists(BLOCKS, min_size=1, max_size=2) | ANY, min_size=1, max_size=2)
"""Of one message, which may have it twice."""
MESSAGES = st.lists(
    CONTENTS.map(lambda contents: Members([("role", "assistant"), *(("content", each) for each in contents)])),
    max_size=2,
)
NAMED = st.recursive(
    st.just(MAIL),
    lambda inner: st.tuples(st.just("user_id"), inner).map(lambda one: Members([one])) | st.lists(inner, max_size=2),
)
"""Whoever asks, deeper than where they are replaced."""
BODIES = st.lists(
    st.tuples(st.just("messages"), MESSAGES)
    | st.tuples(st.sampled_from(["model", "metadata"]), NAMED)
    | st.tuples(NAMES, ANY),
    max_size=5,
).map(Members)


def written(value: Any, escaped: bool) -> str:
    """`escaped`: every letter of names and strings is, so that they are nowhere as they are."""

    def literal(text: str) -> str:
        return '"' + "".join(f"\\u{ord(c):04x}" for c in text) + '"' if escaped else json.dumps(text)

    if isinstance(value, Members):
        return "{" + ",".join(f"{literal(name)} :{written(inner, escaped)}" for name, inner in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(inner, escaped) for inner in value) + "]"
    return literal(value) if isinstance(value, str) else json.dumps(value)


def strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every string of a document and every name, each as often as it stands there."""
    if isinstance(value, Members):
        for name, inner in value:
            yield (*path, NAME), name
            yield from strings(inner, (*path, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from strings(inner, (*path, i))
    elif isinstance(value, str):
        yield path, value


def may_stay(path: Path, text: str, read: Any) -> bool:
    """The documented exceptions, by what a reader of the body takes it for: of several members the last one."""
    match path:
        case ("model",) | ("metadata", "user_id"):
            return True
        case ("messages", int(i), "content", int(j), "thinking" | "data" as name):
            try:
                block = read["messages"][i]["content"][j]
                kind, proof = ("thinking", "signature") if name == "thinking" else ("redacted_thinking", "data")
                return block["type"] == kind and block[name] == text and block[proof] == SIGNATURE
            except (KeyError, IndexError, TypeError):
                return False
        case _:
            return False


def left_unread(source: str) -> list[tuple[Path, str]]:
    """What stands in a document after all that is read was replaced, and has a value in it."""
    said = structure(source)
    document = JsonText.read(source, said.is_text, said.is_document)
    after = json.loads(document.with_texts("y" for _ in document.texts), object_pairs_hook=Members)
    return [(path, text) for path, text in strings(after) if MAIL in text]


@settings(max_examples=3 * settings.default.max_examples)  # where a leak would begin
@given(BODIES, st.booleans())
def test_nothing_leaves_unread_but_what_may(body: Members, escaped: bool):
    source = written(body, escaped)
    read = json.loads(source)
    assert [(path, text) for path, text in left_unread(source) if not may_stay(path, text, read)] == []


def test_what_may_stay_does():
    # Else the test before would say nothing of thoughts.
    for name, proof in itertools.product(["text", "thinking", "data"], ["text", "signature", "data"]):
        block = Members([("type", "thinking"), (name, MAIL), (proof, SIGNATURE)])
        source = written(
            Members([("messages", [Members([("role", "assistant"), ("content", [block])])])]), escaped=False
        )
        stays = (name, proof) == ("thinking", "signature")
        assert left_unread(source) == ([(("messages", 0, "content", 0, "thinking"), MAIL)] if stays else [])
