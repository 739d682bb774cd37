"""Source: the OpenAI API reference, "Create chat completion"; real first requests in the recordings."""

import json
from pathlib import Path
from typing import Any

import pytest

from appliance.dialects.jsontext import JsonText
from appliance.dialects.openai.structure import is_end_user, is_text, structure

RECORDINGS = Path(__file__).parents[3].parent / "shared" / "recordings" / "clients"

BODY: dict[str, Any] = {
    "model": "gpt-5",
    "user": "u-1",
    "messages": [
        {"role": "system", "content": "S"},
        {"role": "user", "name": "Jane Doe", "content": [
            {"type": "text", "text": "T"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "https://host/jane"}},
        ]},
        {"role": "assistant", "content": None, "refusal": "R", "reasoning_content": "Z", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"to": "A"}'}},
        ]},
        {"role": "tool", "tool_call_id": "call_1", "content": '[{"Jean Dupont": "B"}]'},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "description": "D", "parameters": {
        "type": "object", "properties": {"to": {"type": "string", "enum": ["E"], "description": "F"}}}}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"title": "G"}}},
    "stop": ["H"],
    "metadata": {"phone 06": "I"},
    "unknown": {"deep": ["J"]},
}  # fmt: skip


def texts(body: Any) -> list[str]:
    return list(JsonText.read(json.dumps(body), is_text).texts)


def test_all_that_is_said_is_text_and_names_and_ids_too():
    assert texts(BODY) == [
        "S", "Jane Doe", "T", "data:image/png;base64,AAAA", "https://host/jane", "R", "Z", "call_1", "f", "to", "A",
        "call_1", "Jean Dupont", "B", "f", "D", "object", "string", "E", "F", "f", "n", "G", "H", "phone 06", "I", "J",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "jane@example.org"}]},
        {"messages": [{"tool_calls": [{"id": "Jane Doe"}]}]},
        {"messages": [{"content": [{"type": "text2"}]}]},
        {"tools": [{"function": {"name": "pay_FR7630006000011234567890189"}}]},
        {"tool_choice": "06 12 34 56 78"},
        {"service_tier": "0612345678"},
        {"metadata": {"jane@example.org": 1}},
        {"0612345678": 1},
    ],
)
def test_what_stands_in_the_place_of_a_word_and_is_none_is_text(body: Any):
    assert len(texts(body)) == 1


def test_a_name_that_never_leaves_is_not_read():
    assert (
        texts({"model": "jane@example.org", "user": "jane@example.org", "metadata": {"user_id": "x@example.org"}}) == []
    )


@pytest.mark.parametrize(
    ("body", "people"),
    [
        ({"user_id": "u", "userId": "u", "end_user": "u", "session-id": "u"}, 4),
        ({"metadata": {"userId": "u", "deep": {"customer_id": "u"}, "topic": "t"}}, 2),
        ({"metadata": '{"user_id": "u", "topic": "t"}'}, 1),
        ({"extra_body": {"user": "u", "metadata": {"user_id": "u"}}}, 2),
        ({"messages": [{"role": "user", "user": "u", "metadata": {"user_id": "u"}, "content": "t"}]}, 2),
        ({"messages": [{"role": "tool", "content": '{"user": "t", "session_id": "t"}'}]}, 0),
        ({"tools": [{"function": {"parameters": {"properties": {"user": {"description": "t"}}}}}]}, 0),
    ],
)
def test_who_asks_is_known_by_the_name_of_the_member(body: Any, people: int):
    leaves = list(JsonText.read(json.dumps(body), is_text).leaves)
    assert [leaf.text for leaf in leaves if is_end_user(leaf.path)] == ["u"] * people


@pytest.mark.parametrize(
    ("text", "unscannable"),
    [
        ("data:image/png;base64,AAAA", True),
        ("data:application/pdf;charset=x;base64,AAAA", True),
        ("iVBORw0KGgo" + "A" * 100, True),
        ("/9j/" + "4AAQSkZJRg" * 20, True),
        ("JVBERi0xLjcK" + "a" * 90 + "==", True),
        ("data:text/plain,jane@example.org", False),
        ("data:,x", False),
        ("/9j/ is how a JPEG begins", False),
        ("a" * 500, False),
        ("", False),
    ],
)
def test_what_is_a_picture_or_a_file_cannot_be_read(text: str, unscannable: bool):
    assert structure("{}").is_unscannable(("messages", 0, "content"), text) is unscannable


def test_real_requests_keep_their_structure():
    if not RECORDINGS.is_dir():
        pytest.skip("the recordings are not here")
    seen = 0
    for file in sorted(RECORDINGS.rglob("*.json")):
        recorded = json.loads(file.read_text("utf-8"))
        for body in _bodies(recorded):
            seen += 1
            document = JsonText.read(json.dumps(body), is_text)
            written = json.loads(document.with_texts("x" for _ in document.texts))
            assert written["model"] == body["model"]
            assert [one["role"] for one in written["messages"]] == [one["role"] for one in body["messages"]]
            assert [one["type"] for one in written.get("tools", ())] == ["function"] * len(body.get("tools", ()))
    assert seen > 0


def _bodies(value: Any) -> list[Any]:
    """The Chat Completions bodies somewhere in a recording."""
    if isinstance(value, dict):
        if isinstance(value.get("messages"), list) and "model" in value and "max_tokens_to_sample" not in value:
            return [value] if all("function" in tool for tool in value.get("tools") or ()) else []
        return [body for inner in value.values() for body in _bodies(inner)]
    return [body for inner in value for body in _bodies(inner)] if isinstance(value, list) else []
