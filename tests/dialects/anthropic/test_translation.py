"""The whole way: whatever a caller of OpenAI's dialect may say is a body that Anthropic takes, or refused by name.

Sources: dialects.md §1.1, §1.2 and §4; architecture.md, rule 1 ("Nothing with an effect is dropped silently").
"""

import base64
import itertools
import json
import re
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from appliance.dialects.anthropic.body import written
from appliance.dialects.anthropic.turns import CANCELLED, OPENING
from appliance.dialects.chat import DialectError
from appliance.dialects.openai import answer
from appliance.dialects.openai.request import parse
from tests.dialects.openai import stream_grammar
from tests.upstreams.anthropic import texts_of
from tests.upstreams.anthropic_events import end, parsed, start, text, thinking, tool_use
from tests.upstreams.anthropic_rules import problem

Json = dict[str, Any]

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6) | st.sampled_from(["", " ", "\n", "a ", "\u00a0"])
IDS = st.sampled_from(["c1", "c1", "c1", "c1", "c1_2", "c.1", "c_1", "", "call_é"])
"""Few, so that they meet: as they are, made valid, and made unique."""
NAMES = st.sampled_from(["f", "get_weather", "wait"])
ANY_NAME = NAMES | st.sampled_from(["", "a.b", "søk", "x" * 140])
ARGUMENTS = st.sampled_from(["", " ", "{", "[1]", "null", '{"a": 1e2}', '{"z":"é","a":{}}', '{"a":"\\ud800"}'])
PICTURES = st.binary(max_size=9).map(b"\x89PNG\r\n\x1a\n".__add__)

PARTS = st.lists(
    TEXT.map(lambda value: {"type": "text", "text": value})
    | PICTURES.map(lambda data: {"type": "image_url", "image_url": {"url": as_url(data)}}),
    max_size=4,
)
CALLS = st.lists(
    st.builds(
        lambda call_id, name, arguments: {"id": call_id, "function": {"name": name, "arguments": arguments}},
        IDS,
        ANY_NAME,
        ARGUMENTS,
    ),
    max_size=3,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "developer"]), "content": TEXT})
    | st.fixed_dictionaries({"role": st.just("user"), "content": TEXT | PARTS})
    | st.fixed_dictionaries({"role": st.just("assistant"), "content": TEXT | st.none(), "tool_calls": CALLS})
    | st.fixed_dictionaries({"role": st.just("tool"), "content": TEXT | PARTS, "tool_call_id": IDS}),
    min_size=1,
    max_size=8,
)
SCHEMAS = st.sampled_from(
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        {"type": "object", "properties": {"é": {}}},
        {"type": ["object", "null"]},
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
        {"oneOf": [{"type": "object"}]},
    ]
)
TOOLS = st.lists(
    st.builds(
        lambda name, schema: {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}},
        NAMES | st.just("a.b"),
        SCHEMAS,
    ),
    max_size=3,
    unique_by=lambda tool: tool["function"]["name"],
)
FORMATS = st.sampled_from([{"type": "text"}, {"type": "json_object"}]) | SCHEMAS.map(
    lambda schema: {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
)
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.sampled_from([0, 0.7, 1, 1.5]),
        "top_p": st.sampled_from([0.5, 1]),
        "n": st.sampled_from([1, 2]),
        "seed": st.just(1),
        "logprobs": st.booleans(),
        "frequency_penalty": st.sampled_from([0, 1]),
        "presence_penalty": st.sampled_from([0, -1]),
        "stop": st.sampled_from(["END", "\n", ["a", ""], None]),
        "max_tokens": st.sampled_from([0, 1, 4096, None]),
        "reasoning_effort": st.sampled_from(["none", "minimal", "low", "high", "xhigh", "max"]),
        "response_format": FORMATS,
        "tools": TOOLS,
        "tool_choice": st.sampled_from(["auto", "none", "required", {"type": "function", "function": {"name": "f"}}]),
        "parallel_tool_calls": st.booleans(),
        "user": st.just("someone"),
    },
)
PARAMS = re.compile(
    r"n|seed|logprobs|frequency_penalty|presence_penalty|temperature|top_p|stop|tools|response_format|messages(\[\d+\]\.content)?"
)


def as_url(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


def asked(messages: list[Json], **wishes: Any) -> Json:
    """The body that Anthropic is sent. Raises DialectError."""
    chat = parse(json.dumps({"messages": messages, **wishes}).encode()).chat
    return json.loads(written(chat, model="claude-x", new_id=str).body)


@given(MESSAGES, WISHES)
def test_any_call_is_a_body_that_the_api_takes_or_refused_by_name(messages: list[Json], wishes: Json):
    try:
        chat = parse(json.dumps({"messages": messages, **wishes}).encode()).chat
    except DialectError:
        assume(False)
        raise
    try:
        body = json.loads(written(chat, model="claude-x", new_id=str).body)
    except DialectError as error:
        refused = error
    else:
        assert problem(body) is None
        return
    assert PARAMS.fullmatch(str(refused.param))
    assert f"`{refused.param}`" in refused.message


def texts_said(content: Any) -> list[str]:
    """The texts of a message, neighbours joined, blank ones left out."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    runs = itertools.groupby(parts, key=lambda part: part["type"])
    joined = ["".join(part["text"] for part in run) for kind, run in runs if kind == "text"]
    return [one for one in joined if one.strip()]


def labelled(messages: list[Json]) -> list[Json]:
    """The same messages with texts that occur only once, blank ones aside."""
    count = itertools.count()

    def label(value: Any) -> Any:
        if isinstance(value, list):
            return [one | ({"text": label(one["text"])} if "text" in one else {}) for one in value]
        return f"<{next(count)}>{value}" if value and value.strip() else value

    return [message | {"content": label(message["content"])} for message in messages]


@given(MESSAGES.map(labelled))
def test_no_text_is_lost_or_changed_or_out_of_order(messages: list[Json]):
    """Results are moved before what the user says in the same turn, and the last word stays with who had it."""
    try:
        body = asked(messages)
    except DialectError:
        return
    said = [(message["role"], one) for message in messages for one in texts_said(message["content"])]
    system = [one for role, one in said if role in ("system", "developer")]
    spoken = [one for role, one in said if role not in ("system", "developer")]
    sent = [one for one in texts_of(body | {"messages": uncalled(body)}) if one not in (OPENING, CANCELLED)]
    last = body["messages"][-1]["role"]
    if last == "assistant":
        spoken[-1] = spoken[-1].rstrip()
    roles = [role for role, _ in said if role not in ("system", "developer")]
    assert last == "user" or roles[-1] == "assistant"
    assert sorted(sent) == sorted(system + spoken)
    results = {one for message in messages if message["role"] == "tool" for one in texts_said(message["content"])}
    assert [one for one in sent if one not in results] == [one for one in system + spoken if one not in results]


def uncalled(body: Json) -> list[Json]:
    """The messages without calls, whose inputs are no text that anybody said."""
    return [
        message | {"content": [block for block in message["content"] if block["type"] != "tool_use"]}
        for message in body["messages"]
    ]


@given(st.lists(st.tuples(st.lists(st.tuples(IDS, NAMES, ARGUMENTS, TEXT), min_size=1, max_size=3), TEXT), max_size=4))
def test_in_an_orderly_history_every_call_keeps_its_input_and_its_result(rounds: list[tuple[list[Any], str]]):
    """Ids come again, are empty or not the API's; each round is answered at once, as clients do."""
    messages: list[Json] = [{"role": "user", "content": "go"}]
    for calls, said in rounds:
        used = [{"id": i, "function": {"name": name, "arguments": a}} for i, name, a, _ in calls]
        messages.append({"role": "assistant", "content": said, "tool_calls": used})
        messages += [{"role": "tool", "tool_call_id": i, "name": name, "content": t} for i, name, _, t in calls]
    body = asked(messages)
    turns = iter(body["messages"][1:])
    for (calls, _), (assistant, user) in zip(rounds, zip(turns, turns, strict=False), strict=True):
        used = [block for block in assistant["content"] if block["type"] == "tool_use"]
        given_back = {block["tool_use_id"]: block for block in user["content"]}
        assert [block["name"] for block in used] == [name for _, name, _, _ in calls]
        assert [block["input"] for block in used] == [input_of(arguments) for _, _, arguments, _ in calls]
        told = ["".join(one["text"] for one in given_back[block["id"]].get("content", [])) for block in used]
        if len({i or name for i, name, _, _ in calls}) == len(calls):
            assert told == [result if result.strip() else "" for *_, result in calls]


def input_of(arguments: str) -> Any:
    """What stands for arguments: themselves, where they are an object that JSON can say (RFC 8259, §8.2)."""
    if not arguments.strip():
        return {}
    try:
        value = json.loads(arguments)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"_raw": arguments}


@given(MESSAGES, st.lists(st.just({"role": "user", "content": "and?"}), min_size=1, max_size=2))
def test_a_conversation_that_goes_on_is_sent_with_the_same_beginning(messages: list[Json], more: list[Json]):
    """So that the provider's cache of it serves again; the turn that the rest is added to aside."""
    closed = [*messages, {"role": "user", "content": "well"}]
    try:
        before = asked(closed)
    except DialectError:
        return
    after = asked([*closed, *more])
    assert after["messages"][: len(before["messages"]) - 1] == before["messages"][:-1]
    assert after.get("system") == before.get("system")


BLOCKS = st.lists(
    st.tuples(st.just("text"), TEXT)
    | st.tuples(st.just("thinking"), TEXT)
    | st.tuples(st.just("call"), st.dictionaries(TEXT, TEXT | st.integers(), max_size=2).map(json.dumps)),
    max_size=5,
)


@given(BLOCKS)
def test_an_answer_reaches_an_openai_client(blocks: list[tuple[str, str]]):
    """Streamed, as a reader of OpenAI's own grammar sees it."""
    chat = parse(b'{"messages":[{"role":"user","content":"hi"}]}').chat
    ids = itertools.count()
    reader = written(chat, model="m", new_id=lambda: f"call_{next(ids)}").reader()
    writers = {"text": text, "thinking": thinking}
    sent = [
        tool_use("f", value, index=i) if kind == "call" else writers[kind](value, index=i)
        for i, (kind, value) in enumerate(blocks)
    ]
    called = [value for kind, value in blocks if kind == "call"]
    whole = b"".join([start(tokens=4, read=5), *sent, end("tool_use" if called else "end_turn", tokens=6)])
    events = [one for name, data in parsed(whole) for one in reader.read(name, data)]
    out = answer.Stream("c", 1, "m", include_usage=True)
    read = stream_grammar.read(b"".join([out.start(), *map(out.delta, events), out.finish()]), include_usage=True)
    (choice,) = read.choices.values() if isinstance(read.choices, dict) else read.choices
    assert choice.text == "".join(value for kind, value in blocks if kind == "text")
    assert choice.reasoning == "".join(value for kind, value in blocks if kind == "thinking")
    assert [(call.id, call.arguments) for call in choice.calls] == [(f"call_{i}", one) for i, one in enumerate(called)]
    assert choice.finish_reason == ("tool_calls" if called else "stop")
    assert read.usage == {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15}
