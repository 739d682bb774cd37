"""The whole way: what a caller of OpenAI's dialect says reaches Ollama, and what Ollama says comes back.

Sources: dialects.md §1.1, §2 and §4; architecture.md, rule 1 ("Nothing with an effect is dropped silently").
"""

import base64
import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import DialectError, Event
from appliance.dialects.leaves import leaves
from appliance.dialects.ollama.body import Target, prepare
from appliance.dialects.ollama.lines import Reader
from appliance.dialects.openai import answer
from appliance.dialects.openai.request import parse
from tests.dialects.openai import stream_grammar

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
IDS = st.sampled_from(["c1", "c2", "call_é", "c1"])
NAMES = st.sampled_from(["get_weather", "f", "wait"])
ARGUMENTS = st.dictionaries(st.text(max_size=3), st.none() | st.integers(-9, 9) | TEXT, max_size=3).map(json.dumps)
PICTURES = st.binary(max_size=9).map(b"\x89PNG\r\n\x1a\n".__add__)


def as_url(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


PARTS = st.lists(
    TEXT.map(lambda text: {"type": "text", "text": text})
    | PICTURES.map(lambda data: {"type": "image_url", "image_url": {"url": as_url(data)}}),
    max_size=4,
)
CALLS = st.lists(
    st.builds(
        lambda call_id, name, arguments: {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        },
        IDS,
        NAMES,
        ARGUMENTS | st.sampled_from(["", "{", "[1]"]),
    ),
    max_size=3,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "developer"]), "content": TEXT})
    | st.fixed_dictionaries({"role": st.just("user"), "content": TEXT | PARTS})
    | st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": TEXT | st.none(), "tool_calls": CALLS, "reasoning": TEXT}
    )
    | st.fixed_dictionaries({"role": st.just("tool"), "content": TEXT, "tool_call_id": IDS}),
    min_size=1,
    max_size=6,
)


def text_of(content: Any) -> str:
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    return "".join(part.get("text", "") for part in parts)


def pictures_of(content: Any) -> list[str]:
    parts = content if isinstance(content, list) else []
    return [part["image_url"]["url"].split(",")[1] for part in parts if "image_url" in part]


def arguments_of(text: str) -> object:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"_raw": text}


@given(MESSAGES)
def test_every_text_call_id_and_picture_arrives_in_order(messages: list[dict[str, Any]]):
    chat = parse(json.dumps({"messages": messages}).encode()).chat
    body = json.loads(prepare(chat, Target("m"), new_id=str).body)
    assert len(body["messages"]) == len(messages)
    names: dict[str, str] = {}
    for sent, arrived in zip(messages, body["messages"], strict=True):
        assert arrived["role"] == ("system" if sent["role"] == "developer" else sent["role"])
        assert arrived["content"] == text_of(sent["content"])
        assert arrived.get("images", []) == pictures_of(sent["content"])
        assert arrived.get("thinking", "") == sent.get("reasoning", "")
        assert [
            (one["id"], one["function"]["name"], one["function"]["arguments"]) for one in arrived.get("tool_calls", [])
        ] == [
            (one["id"], one["function"]["name"], arguments_of(one["function"]["arguments"]))
            for one in sent.get("tool_calls", [])
        ]
        names |= {one["id"]: one["function"]["name"] for one in sent.get("tool_calls", [])}
        if sent["role"] == "tool":
            assert arrived["tool_call_id"] == sent["tool_call_id"]
            assert arrived.get("tool_name", "") == names.get(sent["tool_call_id"], "")


@given(MESSAGES)
def test_the_walker_sees_every_text(messages: list[dict[str, Any]]):
    chat = parse(json.dumps({"messages": messages}).encode()).chat
    seen = "".join(leaf.text for leaf in leaves(chat))
    expected = "".join(
        sent.get("reasoning", "")
        + text_of(sent["content"])
        + "".join(one["function"]["arguments"] for one in sent.get("tool_calls", []))
        for sent in messages
    )
    assert seen == expected


KEYWORDS = st.sampled_from(
    ["type", "items", "properties", "required", "anyOf", "allOf", "$ref", "$defs", "const", "description", "not"]
)
SCHEMAS = st.dictionaries(
    KEYWORDS,
    st.recursive(
        st.none() | st.integers(-3, 3) | st.sampled_from(["#", "#/$defs/type", "object", "#/items", "http://x/y"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
        max_leaves=12,
    ),
    max_size=4,
)


@given(
    st.lists(st.tuples(NAMES, SCHEMAS), min_size=1, max_size=3),
    st.sampled_from(["auto", "none", "required", {"type": "function", "function": {"name": "f"}}, None]),
)
def test_any_tools_are_a_body_or_refused_with_a_name(tools: list[tuple[str, dict[str, Any]]], choice: object):
    wanted = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in tools]
    asked = {"messages": [{"role": "user", "content": "hi"}], "tools": wanted, "tool_choice": choice}
    try:
        body = prepare(parse(json.dumps(asked).encode()).chat, Target("m"), new_id=str).body
    except DialectError as error:
        refusal = error
    else:
        assert isinstance(json.loads(body), dict)
        return
    assert refusal.param in ("tools", "tool_choice")
    assert f"`{refusal.param}`" in refusal.message


PIECES = st.lists(
    st.tuples(st.just("content"), TEXT)
    | st.tuples(st.just("thinking"), TEXT)
    | st.tuples(
        st.just("tool_calls"), st.lists(st.tuples(NAMES, st.dictionaries(TEXT, st.integers(0, 9), max_size=2)))
    ),
    max_size=6,
)


def as_message(kind: str, value: Any) -> dict[str, Any]:
    if kind == "tool_calls":
        value = [{"function": {"name": name, "arguments": arguments}} for name, arguments in value]
    return {"role": "assistant", "content": "", kind: value}


def merged(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": "".join(message["content"] for message in messages),
        "thinking": "".join(message.get("thinking", "") for message in messages),
        "tool_calls": [one for message in messages for one in message.get("tool_calls", [])],
    }


def events_of(lines: list[dict[str, Any]]) -> list[Event]:
    ids = itertools.count()
    reader = Reader(None, lambda: f"call_{next(ids)}")
    return [event for line in lines for event in reader.read(json.dumps(line).encode())]


@given(PIECES, st.sampled_from(["stop", "length"]), st.booleans())
def test_an_answer_is_the_same_whole_and_streamed(pieces: list[tuple[str, Any]], reason: str, late: bool):
    """Both from Ollama, whose last line may carry a part or nothing of the answer, and to the caller."""
    end = {"done": True, "done_reason": reason, "prompt_eval_count": 7, "eval_count": 5}
    messages = [as_message(kind, value) for kind, value in pieces]
    parts = [{"message": message, "done": False} for message in messages]
    streamed = [*parts[:-1], {**parts[-1], **end}] if late and parts else [*parts, end]
    body = json.loads(
        answer.whole(id="c", created=1, model="m", events=events_of([{"message": merged(messages), **end}]), pulse={})
    )
    out = answer.Stream("c", 1, "m", include_usage=True)
    data = b"".join([out.start(), *map(out.delta, events_of(streamed)), out.finish()])
    read = stream_grammar.read(data, include_usage=True)
    message, choice = body["choices"][0]["message"], read.choices[0]
    assert (message["content"] or "") == choice.text
    assert message.get("reasoning", "") == choice.reasoning
    assert [(one["id"], one["function"]) for one in message.get("tool_calls", [])] == [
        (call.id, {"name": call.name, "arguments": call.arguments}) for call in choice.calls
    ]
    assert body["choices"][0]["finish_reason"] == choice.finish_reason
    assert body["usage"] == read.usage
