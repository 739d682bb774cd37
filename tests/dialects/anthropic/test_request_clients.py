"""Reading calls that nobody here made up: those of real clients, as recorded, and arbitrary ones."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.estimate import measure
from appliance.dialects.anthropic.request import Request, counted, parse
from appliance.dialects.chat import DialectError, Effort, Format, Image, Message, Text, ToolCall, ToolChoice

RECORDINGS = Path(__file__).parents[3].parent / "shared" / "recordings" / "clients"
BILLING = "x-anthropic-billing-header:"
PNG = b"\x89PNG\r\n\x1a\n"

Json = dict[str, Any]


def recorded(route: str) -> list[Any]:
    found = sorted(RECORDINGS.glob(f"*-POST_v1_{route}.json"))
    return [pytest.param(path, id=path.stem) for path in found] or [
        pytest.param(None, marks=pytest.mark.skip(reason="the recordings of real clients are not on this machine"))
    ]


CALLS = recorded("messages")
COUNTS = recorded("messages_count_tokens")


def body_of(path: Path) -> Json:
    """As it was sent: a picture's base64 was replaced by filler when it was recorded, as every long text was."""
    if not path.is_file():
        pytest.skip("the recordings of real clients are not on this machine")
    body: Json = json.loads(path.read_text())["body"]
    for message in body["messages"]:
        for source in (block.get("source", {}) for block in blocks_of(message["content"])):
            if source.get("type") == "base64":
                size = len(source["data"]) // 4 * 3 - len(PNG)
                source["data"] = base64.b64encode(PNG + bytes(size)).decode()
    return body


def call_of(name: str) -> tuple[Json, Request]:
    body = body_of(RECORDINGS / f"{name}-POST_v1_messages.json")
    return body, parse(json.dumps(body).encode())


def blocks_of(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def system_of(body: Json) -> list[str]:
    """What the system says, without the block that is for accounts."""
    texts = [block["text"] for block in blocks_of(body.get("system", []))]
    return [text for text in texts if not text.startswith(BILLING)]


def said_by(block: Json) -> list[str]:
    """The texts of a block of these recordings, in which every kind that there is stands here."""
    match block["type"]:
        case "text":
            return [block["text"]]
        case "image":
            return []
        case "document":
            return [block["title"], block["source"]["data"]]
        case "tool_result":
            return [text for one in blocks_of(block["content"]) for text in said_by(one)]
        case "tool_use":
            return []
    raise AssertionError(block["type"])


def turns_of(body: Json) -> Iterator[tuple[str, list[str]]]:
    """Who says what in the messages; each result of a tool is a turn of its own, before the rest."""
    for message in body["messages"]:
        blocks = blocks_of(message["content"])
        results = [block for block in blocks if block["type"] == "tool_result"]
        rest = [block for block in blocks if block["type"] != "tool_result"]
        yield from (("tool", said_by(block)) for block in results)
        if rest:
            yield message["role"], [text for block in rest for text in said_by(block)]


def characters_of(body: Json) -> int:
    """gateway.md: over system, messages and tool definitions; routing.md: each tool as compact JSON."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    texts = [*system_of(body), *(text for _, said in turns_of(body) for text in said)]
    for message in body["messages"]:
        calls = (block for block in blocks_of(message["content"]) if block["type"] == "tool_use")
        texts += [compact(block["input"]) for block in calls]
    texts += map(compact, body.get("tools", []))
    return sum(map(len, texts))


@pytest.mark.parametrize("path", CALLS)
def test_every_call_of_a_real_client_is_read(path: Path):
    body = body_of(path)
    request = parse(json.dumps(body).encode())
    chat = request.chat
    assert (request.model, request.stream) == (body["model"], body.get("stream", False))
    system = system_of(body)
    turns = [*([("system", system)] if system else []), *turns_of(body)]
    assert [(one.role, [part.text for part in one.parts if isinstance(part, Text)]) for one in chat.messages] == turns
    assert [(tool.name, tool.description, tool.parameters) for tool in chat.tools] == [
        (tool["name"], tool["description"], tool["input_schema"]) for tool in body.get("tools", [])
    ]
    assert chat.sampling.max_tokens == body["max_tokens"]
    assert chat.sampling.stop == tuple(body.get("stop_sequences", ()))
    assert chat.unsaid is None
    assert chat.reminders


@pytest.mark.parametrize("path", CALLS)
def test_what_is_for_accounts_is_not_in_it(path: Path):
    body = body_of(path)
    assert all(BILLING not in message.text for message in parse(json.dumps(body).encode()).chat.messages)
    if "claude-hi" in path.stem:
        assert body["system"][0]["text"].startswith(BILLING)


@pytest.mark.parametrize("path", [*CALLS, *COUNTS])
def test_tokens_are_a_quarter_of_the_characters(path: Path):
    body = body_of(path)
    assert measure(counted(json.dumps(body).encode())).tokens == -(-characters_of(body) // 4)


@pytest.mark.parametrize("path", COUNTS)
def test_every_count_of_a_real_client_is_read(path: Path):
    body = body_of(path)
    chat = counted(json.dumps(body).encode())
    assert [(one.role, one.text) for one in chat.messages] == [
        (one["role"], one["content"]) for one in body["messages"]
    ]
    assert [tool.name for tool in chat.tools] == [tool["name"] for tool in body.get("tools", [])]
    assert chat.sampling.max_tokens is None


def test_a_harness_says_something_of_the_system_in_the_middle():
    body, request = call_of("claude-hi-02")
    assert [message.role for message in request.chat.messages] == ["system", "user", "system"]
    assert request.chat.messages[0].text == body["system"][1]["text"] + "\n" + body["system"][2]["text"]
    assert request.chat.messages[2].text == body["messages"][1]["content"]
    assert (len(request.chat.tools), request.chat.effort, request.stream) == (24, "high", True)


def test_a_harness_plays_back_a_call_that_failed():
    _, request = call_of("claude-tool-03")
    *_, asked, result = request.chat.messages
    given = '{"command":"echo hi-from-tool; false","description":"x"}'
    assert asked.tool_calls == (ToolCall("toolu_stub01", "Bash", given),)
    assert result == Message(
        "tool",
        (Text("Exit code 1\nhi-from-tool"),),
        tool_call_id="toolu_stub01",
        tool_name="Bash",
        failed=True,
        joint="\n",
    )


def test_a_harness_wants_a_title_in_a_form():
    body, request = call_of("claude-resume-02")
    assert request.chat.format == Format(body["output_config"]["format"]["schema"])
    assert request.chat.tools == ()


def test_vercel_names_its_object_a_tool():
    _, request = call_of("js-vercel-07")
    assert request.chat.tool_choice == ToolChoice("required")
    assert not request.chat.parallel
    assert [tool.name for tool in request.chat.tools] == ["json"]


def test_the_official_client_sends_a_picture_a_document_and_much_more():
    _, request = call_of("sdk-anthropic-03")
    chat = request.chat
    picture, *texts = chat.messages[1].parts
    assert picture == Image(PNG + bytes(72 - len(PNG)), "image/png")
    assert texts == [Text("t"), Text("doc text"), Text("q")]
    assert chat.sampling.stop == ("END",)
    assert (chat.effort, chat.tool_choice, chat.parallel) == ("low", ToolChoice("required"), False)


WORDS = st.sampled_from([
    "text", "user", "assistant", "system", "tool", "image", "document", "tool_use", "tool_result", "thinking",
    "redacted_thinking", "search_result", "tool_reference", "server_tool_use", "web_search_tool_result", "base64",
    "url", "content", "auto", "any", "none", "enabled", "adaptive", "disabled", "json_schema", "low", "custom",
    "web_search_20250305", "/etc/passwd", "iVBORw0KGgo=", "object", "#", "(", "x-anthropic-billing-header: 1", "", "x",
])  # fmt: skip
KEYS = st.sampled_from([
    "type", "text", "role", "content", "source", "data", "media_type", "title", "context", "citations", "enabled",
    "thinking", "signature", "id", "name", "input", "tool_use_id", "is_error", "tool_name", "cache_control", "url",
    "schema", "properties", "$ref", "pattern", "effort", "format", "budget_tokens", "disable_parallel_tool_use",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**64 - 1) | st.floats(-3, 3) | WORDS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=14,
)
BLOCKS = st.lists(
    st.builds(lambda kind, rest: {**rest, "type": kind}, WORDS, st.dictionaries(KEYS, JSON, max_size=5)), max_size=3
)
NAMES = st.sampled_from([
    "model", "messages", "system", "max_tokens", "stream", "stop_sequences", "tools", "tool_choice", "temperature",
    "top_p", "top_k", "thinking", "output_config", "output_format", "mcp_servers", "metadata",
])  # fmt: skip


def check(body: Json) -> None:
    """It is a call, or refused by the name of what is wrong; to be counted as much as to be answered."""
    content = json.dumps(body).encode()
    for read in (lambda: parse(content).chat, lambda: counted(content)):
        try:
            chat = read()
        except DialectError as error:
            assert error.param  # noqa: PT017  either outcome is right
            assert f"`{error.param}`" in error.message  # noqa: PT017
        else:
            assert chat.messages
            assert chat.effort in (None, *get_args(Effort))
            assert chat.unsaid is None or f"`{chat.unsaid.param}`" in chat.unsaid.message


@given(st.dictionaries(NAMES, JSON))
def test_any_object_is_a_call_or_refused_with_a_name(body: Json):
    check(body)


@given(NAMES, JSON, st.sampled_from(["user", "assistant", "system"]), BLOCKS)
def test_any_value_in_any_field_of_a_call(name: str, value: object, role: str, blocks: list[Json]):
    turns = [{"role": "user", "content": "hi"}, {"role": role, "content": blocks}]
    tools = [{"name": "x", "input_schema": {"type": "object"}}]
    check({"max_tokens": 5, "messages": turns, "tools": tools, name: value})
    check({"max_tokens": 5, "messages": turns, name: value})
