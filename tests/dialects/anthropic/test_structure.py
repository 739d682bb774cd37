"""What the strings of a body are. Sources: shield.md ("What is scanned"); gateway.md ("Sensitive data that is not
text"); the types of PyPI `anthropic` 2.14.0; real first requests in the recordings."""

import json
from pathlib import Path
from typing import Any

import pytest

from appliance.dialects.anthropic.structure import is_signed, structure
from appliance.dialects.jsontext import JsonText

RECORDINGS = Path(__file__).parents[3].parent / "shared" / "recordings" / "clients"

MAIL = "jane@example.org"
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYdsEqQ=="
Json = dict[str, Any]

BODY: Json = {
    "model": "claude-x",
    "max_tokens": 99,
    "metadata": {"user_id": "u-1", "topic": "A"},
    "service_tier": "auto",
    "system": [{"type": "text", "text": "B", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
    "messages": [
        {"role": "user", "content": "C"},
        {"role": "user", "content": [
            {"type": "text", "text": "D", "cache_control": {"type": "ephemeral"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            {"type": "document", "title": "E", "context": "F", "source": {"type": "text", "media_type": "text/plain",
                "data": "G"}},
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "H"}]}},
            {"type": "search_result", "source": "I", "title": "J", "content": [{"type": "text", "text": "K"}]},
        ]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "signed", "signature": SIGNATURE},
            {"type": "redacted_thinking", "data": SIGNATURE},
            {"type": "text", "text": "L", "citations": [{"type": "char_location", "cited_text": "M"}]},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"to": "N", "n": 1234567, "b": {"a": ""}}},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "O"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": '{"Jean": "P"}'},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "Q"}]},
        ]},
        {"role": "system", "content": "R"},
    ],
    "tools": [
        {"name": "look", "description": "S", "input_schema": {"type": "object", "properties": {"a": {"enum": ["T"]}}},
            "input_examples": [{"tel": 7654321}]},
        {"type": "web_search_20250305", "name": "web_search", "user_location": {"city": "U"}},
    ],
    "tool_choice": {"type": "tool", "name": "look"},
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {"title": "V"}}},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "stop_sequences": ["W"],
    "mcp_servers": [{"type": "url", "url": "X", "name": "Y", "authorization_token": "Z"}],
    "container": "container_1",
    "phone 06": "unknown",
}  # fmt: skip


def document(body: object) -> tuple[JsonText, str]:
    source = body if isinstance(body, str) else json.dumps(body)
    said = structure(source)
    return JsonText.read(source, said.is_text, said.is_document), source


def texts(body: object) -> list[str]:
    return list(document(body)[0].texts)


def opaque(body: object) -> list[str]:
    """The texts, each of which has to look random."""
    read, source = document(body)
    is_opaque = structure(source).is_opaque
    found = list(read.leaves)
    assert all(is_opaque(leaf.path, leaf.text) for leaf in found)
    return [leaf.text for leaf in found]


def turn(*blocks: object, role: str = "assistant") -> Json:
    return {"messages": [{"role": role, "content": [*blocks]}]}


def test_all_that_is_said_is_text_and_names_and_ids_too():
    assert texts(BODY) == [
        "A", "B", "1h", "C", "D", "base64", "image/png", "AAAA", "E", "F", "text/plain", "G", "text", "H", "I", "J",
        "K", SIGNATURE, SIGNATURE, "L", "char_location", "M", "toolu_1", "look", "to", "N", "n", "1234567", "b", "a",
        "", "srvtoolu_1", "web_search", "query", "O", "toolu_1", "Jean", "P", "toolu_2", "Q", "R", "look", "S",
        "object", "T", "tel", "7654321", "web_search", "U", "look", "V", "all", "W", "url", "X", "Y", "Z",
        "container_1", "phone 06", "unknown",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": MAIL}]},
        turn({"type": MAIL}),
        turn({"type": "0612345678"}),
        turn({"type": "Jean"}),
        turn({"type": "bank_20250305x"}),
        turn({"type": "text", "cache_control": {"type": MAIL}}),
        turn({"type": "image", "source": {"type": MAIL}}),
        {"system": [{"type": MAIL}]},
        {"tools": [{"type": MAIL}]},
        {"tools": [{"name": "pay_FR7630006000011234567890189"}]},
        {"tool_choice": {"type": MAIL}},
        {"thinking": {"type": MAIL}},
        {"output_config": {"effort": MAIL}},
        {"output_config": {"format": {"type": MAIL}}},
        {"context_management": {"edits": [{"type": MAIL}]}},
        {"service_tier": "0612345678"},
        {"metadata": {MAIL: 1}},
        {"0612345678": 1},
        # Words, but in no place of a kind.
        {"role": "jean"},
        {"type": "jean"},
        {"unknown": {"type": "jean"}},
        turn({"type": "tool_use", "deeper": {"type": "jean"}}),
    ],
)
def test_what_stands_in_the_place_of_a_word_and_is_none_is_text(body: Json):
    assert len(texts(body)) == 1


@pytest.mark.parametrize("kind", ["web_search_20250305", "clear_thinking_20251015", "bash_20250124"])
def test_a_kind_may_bear_the_day_of_its_version(kind: str):
    assert texts({"tools": [{"type": kind}], "context_management": {"edits": [{"type": kind}]}}) == []


class TestWhoAsks:
    def test_a_name_that_never_leaves_is_not_read(self):
        assert texts({"model": MAIL, "metadata": {"user_id": MAIL}}) == []

    @pytest.mark.parametrize(
        "body",
        [
            {"metadata": [{"user_id": MAIL}]},
            {"metadata": {"x": {"user_id": MAIL}}},
            {"metadata": [[MAIL]]},
            {"model": [MAIL]},
            {"models": MAIL},
            {"metadata": {"user_id": {"x": MAIL}}},
            {"metadata": json.dumps({"user_id": MAIL})},
        ],
    )
    def test_only_what_is_replaced_itself_is_left_to_that(self, body: Json):
        assert [text for text in texts(body) if text != "user_id"] == [MAIL]

    @pytest.mark.parametrize(
        ("body", "people"),
        [
            ({"user": "u", "user_id": "u", "end_user": "u", "session-id": "u"}, 4),
            ({"metadata": {"userId": "u", "deep": {"customer_id": "u"}, "topic": "t"}}, 2),
            ({"metadata": [{"user_id": "u"}, "t"]}, 1),
            ({"metadata": '{"user_id": "u", "topic": "t"}'}, 1),
            ({"diagnostics": {"device_id": "u"}}, 1),
            (turn({"type": "tool_use", "input": {"user": "t", "session_id": "t"}}), 0),
            (turn({"type": "tool_result", "content": '{"user": "t"}'}), 0),
            ({"tools": [{"input_schema": {"properties": {"user": {"description": "t"}}}}]}, 0),
            ({"system": [{"type": "text", "text": "t", "user": "t"}]}, 0),
        ],
    )
    def test_they_are_known_by_the_name_of_the_member(self, body: Json, people: int):
        read, source = document(body)
        is_end_user = structure(source).is_end_user
        assert [leaf.text for leaf in read.leaves if is_end_user(leaf.path)] == ["u"] * people


class TestThoughts:
    def test_one_that_is_signed_returns_to_its_provider_as_it_was(self):
        assert opaque(turn({"type": "thinking", "thinking": MAIL, "signature": SIGNATURE})) == [SIGNATURE]
        assert opaque(turn({"type": "redacted_thinking", "data": SIGNATURE})) == [SIGNATURE]

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "thinking", "thinking": MAIL},
            {"type": "thinking", "thinking": MAIL, "signature": ""},
            {"type": "thinking", "thinking": MAIL, "signature": None},
            {"type": "thinking", "thinking": MAIL, "signature": ["A" * 64]},
            {"type": "thinking", "thinking": MAIL, "signature": "A" * 31},
            {"type": "thinking", "thinking": MAIL, "signature": "A" * 40 + "."},
            {"type": "thinking", "thinking": [MAIL], "signature": SIGNATURE},
            {"type": "thinking", "thinking": {"a": MAIL}, "signature": SIGNATURE},
            {"type": "thinking", "thinking": "x", "text": MAIL, "signature": SIGNATURE},
            {"type": "thinking", "thinking": "x", "data": MAIL, "signature": SIGNATURE},
            {"type": "thinking", "thinking": "x", "signature": MAIL + "A" * 40},
            {"type": "redacted_thinking", "data": MAIL},
            {"type": "redacted_thinking", "data": SIGNATURE, "thinking": MAIL},
            {"type": "redacted_thinking", "data": SIGNATURE, "signature": MAIL},
            {"type": "text", "thinking": MAIL, "signature": SIGNATURE},
            {"type": ["thinking"], "thinking": MAIL, "signature": SIGNATURE},
            {"thinking": MAIL, "signature": SIGNATURE},
        ],
    )
    def test_any_other_is_read(self, block: Json):
        assert MAIL in "".join(texts(turn(block)))
        read, source = document(turn(block))
        is_opaque = structure(source).is_opaque
        assert not any(is_opaque(leaf.path, leaf.text) for leaf in read.leaves if MAIL in leaf.text)

    @pytest.mark.parametrize(
        "body",
        [
            {"system": [{"type": "thinking", "thinking": MAIL, "signature": SIGNATURE}]},
            {"thinking": {"type": "thinking", "thinking": MAIL, "signature": SIGNATURE}},
            {"messages": [{"type": "thinking", "thinking": MAIL, "signature": SIGNATURE}]},
            {"messages": [{"content": {"type": "thinking", "thinking": MAIL, "signature": SIGNATURE}}]},
            turn({"type": "tool_result", "content": [{"type": "thinking", "thinking": MAIL, "signature": SIGNATURE}]}),
            turn({"type": "tool_use", "input": {"type": "thinking", "thinking": MAIL, "signature": SIGNATURE}}),
            turn(json.dumps({"type": "thinking", "thinking": MAIL, "signature": SIGNATURE})),
        ],
    )
    def test_no_thought_stands_anywhere_else(self, body: Json):
        assert MAIL in texts(body)

    @pytest.mark.parametrize(
        ("block", "signed"),
        [
            ({"type": "thinking", "signature": SIGNATURE}, True),
            ({"type": "thinking", "signature": "x"}, True),
            ({"type": "redacted_thinking"}, True),
            ({"type": "thinking", "signature": ""}, False),
            ({"type": "thinking", "signature": None}, False),
            ({"type": "thinking"}, False),
            ({"type": "text", "signature": SIGNATURE}, False),
            ({}, False),
        ],
    )
    def test_what_a_provider_takes_for_its_own(self, block: Json, signed: bool):
        assert is_signed(block) is signed


DECOY = f'{{"type":"thinking","thinking":"x","signature":"{SIGNATURE}"}}'


@pytest.mark.parametrize(
    "content",
    [
        f'[{{"type":"text","text":"{MAIL}","type":"thinking","thinking":"x","signature":"{SIGNATURE}"}}]',
        f'[{{"type":"thinking","thinking":"{MAIL}","thinking":"x","signature":"{SIGNATURE}"}}]',
        f'[{{"type":"thinking","thinking":"{MAIL}","signature":"{SIGNATURE}","signature":""}}]',
        f'[{{"type":"thinking","thinking":"{MAIL}","signature":"{SIGNATURE}","type":"text"}}]',
        f'[{{"type":"thinking","signature":"{SIGNATURE}","signature":"{MAIL}","thinking":"x"}}]',
        f'[{{"type":"text","text":"{MAIL}"}}],"content":[{DECOY}]',
        f'[{{"type":"thinking","thinking":"{MAIL}","signature":"{SIGNATURE}"}}],"content":[{DECOY}]',
        f'"{MAIL}","content":[{DECOY}]',
        f'[{DECOY}],"cont\\u0065nt":"{MAIL}"',
        f'[{{"type":"redacted_thinking","data":"{MAIL}","data":"{SIGNATURE}"}}]',
        f'[{{"type":"image","source":{{"type":"base64","data":"{MAIL}","data":"AAAA"}}}}]',
    ],
)
def test_a_member_that_comes_twice_hides_nothing(content: str):
    body = f'{{"messages":[{{"role":"assistant","content":{content}}}]}}'
    read, source = document(body)
    said = structure(source)
    assert [leaf.text for leaf in read.leaves if MAIL in leaf.text] == [MAIL]
    assert not any(said.is_unscannable(leaf.path, leaf.text) for leaf in read.leaves if MAIL in leaf.text)
    whole = body.replace('"messages":', '"messages":[],"messages":')
    assert MAIL in texts(whole)


@pytest.mark.parametrize(
    ("block", "unscannable"),
    [
        ({"type": "image", "source": {"type": "base64", "data": "AAAA"}}, ["AAAA"]),
        ({"type": "document", "source": {"type": "base64", "data": "JVBE\nRi0="}}, ["JVBE\nRi0="]),
        ({"type": "tool_result", "content": [{"source": {"type": "base64", "data": "_-8="}}]}, ["_-8="]),
        ({"type": "text", "text": "data:image/png;base64,AAAA"}, ["data:image/png;base64,AAAA"]),
        ({"type": "text", "text": "iVBORw0KGgo" + "A" * 80}, ["iVBORw0KGgo" + "A" * 80]),
        ({"type": "image", "source": {"type": "base64", "data": MAIL}}, []),
        ({"type": "image", "source": {"type": "text", "data": "AAAA"}}, []),
        ({"type": "image", "source": {"type": "base64", "data": ["AAAA"]}}, []),
        ({"type": "text", "text": "AAAA"}, []),
    ],
)
def test_what_cannot_be_read(block: Json, unscannable: list[str]):
    read, source = document(turn(block))
    is_unscannable = structure(source).is_unscannable
    assert [leaf.text for leaf in read.leaves if is_unscannable(leaf.path, leaf.text)] == unscannable


@pytest.mark.parametrize(
    "path", sorted(RECORDINGS.glob("*-POST_v1_messages*.json")) or [None], ids=lambda p: p and p.stem
)
def test_real_requests_keep_their_structure(path: Path | None):
    if path is None:
        pytest.skip("the recordings are not here")
    body = json.loads(path.read_text())["body"]
    read, _ = document(body)
    written = json.loads(read.with_texts("x" for _ in read.texts))
    assert skeleton(written) == skeleton(body)


def skeleton(body: Json) -> list[Any]:
    """What no text may take the place of."""
    blocks = [
        [block["type"] for block in message["content"]] if isinstance(message["content"], list) else []
        for message in body["messages"]
    ]
    kinds = [body.get(name, {}).get("type") for name in ("thinking", "tool_choice")]
    roles = [message["role"] for message in body["messages"]]
    return [sorted(body), body["model"], roles, blocks, kinds, len(body.get("tools", ())), body.get("max_tokens")]
