"""Source: the OpenAI API reference, "Create chat completion"; real first requests in the recordings."""

import json
from pathlib import Path
from typing import Any

import pytest

from appliance.dialects.jsontext import JsonText
from appliance.dialects.openai.structure import is_text

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


def test_all_that_is_said_is_text_and_what_holds_it_together_is_not():
    assert texts(BODY) == [
        "u-1", "S", "Jane Doe", "T", "https://host/jane", "R", "Z", "to", "A", "Jean Dupont", "B", "D",
        "object", "string", "E", "F", "G", "H", "phone 06", "I", "J",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {"model": "jane@example.org"},
        {"messages": [{"role": "jane@example.org"}]},
        {"messages": [{"tool_calls": [{"id": "Jane Doe"}]}]},
        {"tools": [{"function": {"name": "mail jane@example.org"}}]},
        {"tool_choice": "06 12 34 56 78"},
        {"messages": [{"content": [{"image_url": {"url": "http://h/?q=jane@example.org"}}]}]},
        {"metadata": {"jane@example.org": 1}},
        {"0612345678": 1},
    ],
)
def test_what_stands_in_the_place_of_a_name_and_is_none_is_text(body: Any):
    assert len(texts(body)) == 1


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
            for one in written.get("tools", ()):
                assert one["function"]["name"] in {tool["function"]["name"] for tool in body["tools"]}
    assert seen > 0


def _bodies(value: Any) -> list[Any]:
    """The Chat Completions bodies somewhere in a recording."""
    if isinstance(value, dict):
        if isinstance(value.get("messages"), list) and "model" in value and "max_tokens_to_sample" not in value:
            return [value] if all("function" in tool for tool in value.get("tools") or ()) else []
        return [body for inner in value.values() for body in _bodies(inner)]
    return [body for inner in value for body in _bodies(inner)] if isinstance(value, list) else []
