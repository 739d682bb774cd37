"""A call that goes from one dialect to the other and back: nothing of it is lost, changed or out of order.

Sources: dialects.md §1.1 and §1.2; architecture.md, rule 1 ("Nothing with an effect is dropped silently").
"""

import copy
import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.dialects.anthropic import body, request
from appliance.dialects.anthropic.turns import OPENING
from appliance.dialects.chat import Chat
from appliance.dialects.openai import request as openai_request
from appliance.dialects.openai import written
from tests.dialects.answers import SOME_TEXT
from tests.dialects.conversations import NAMES, anthropic, back_and_there, openai, there_and_back
from tests.upstreams.anthropic_rules import problem

Json = dict[str, Any]

HI: list[Json] = [{"role": "user", "content": "hi"}]


def of_openai(asked: Json) -> Chat:
    return openai_request.parse(json.dumps(asked).encode()).chat


def of_anthropic(asked: Json) -> Chat:
    return request.parse(json.dumps(asked).encode()).chat


def as_anthropic(chat: Chat) -> Json:
    """The body, which the API takes."""
    sent = json.loads(body.written(chat, model="claude-x", new_id=str).body)
    assert problem(sent) is None
    return sent


def as_openai(chat: Chat) -> Json:
    return json.loads(json.dumps(written.body(chat, model="gpt-5", compatible=False)))


def read(messages: list[Json]) -> list[Json]:
    """Messages of OpenAI's with the values of arguments instead of their text."""
    out = copy.deepcopy(messages)
    for call in (call for one in out for call in one.get("tool_calls", [])):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return out


def paired(messages: list[Json]) -> list[Json]:
    """Messages of OpenAI's with the number of each call instead of its id."""
    out = copy.deepcopy(messages)
    numbers: dict[str, str] = {}
    count = 0
    for one in out:
        for call in one.get("tool_calls", []):
            numbers[call["id"]] = call["id"] = f"call {count}"
            count += 1
        if one["role"] == "tool":
            one["tool_call_id"] = numbers[one["tool_call_id"]]
    return out


@settings(deadline=None)
@given(openai())
def test_openai_s_messages_come_back_from_anthropic_s(messages: list[Json]):
    back = as_openai(of_anthropic(as_anthropic(of_openai({"messages": messages}))))
    assert read(back["messages"]) == read(there_and_back(messages, OPENING))


ANY_IDS = SOME_TEXT | st.sampled_from(["c1", "c.1", "c_1", "c 1", "c_1_2", "c_1_3", "é", "call_0"])


@settings(deadline=None)
@given(openai(ANY_IDS, again=True))
def test_ids_that_the_api_does_not_take_are_spelled_so_that_calls_and_results_still_meet(messages: list[Json]):
    sent = as_anthropic(of_openai({"messages": messages}))
    back = as_openai(of_anthropic(sent))
    assert paired(read(back["messages"])) == paired(read(there_and_back(messages, OPENING)))


@settings(deadline=None)
@given(anthropic())
def test_anthropic_s_messages_come_back_from_openai_s(asked: Json):
    assert problem({"model": "m", "max_tokens": 9, **asked, "tools": tools_of(asked)}) is None
    back = as_anthropic(of_openai(as_openai(of_anthropic({"max_tokens": 9, **asked}))))
    assert {name: back[name] for name in asked} == back_and_there(asked)
    assert ("system" in back) == ("system" in asked)


def tools_of(asked: Json) -> list[Json]:
    """Definitions of what a conversation calls."""
    blocks = [block for one in asked["messages"] if isinstance(one["content"], list) for block in one["content"]]
    names = {block["name"] for block in blocks if block["type"] == "tool_use"}
    return [{"name": name, "input_schema": {"type": "object"}} for name in sorted(names)]


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
SCHEMAS = st.sampled_from([SCHEMA, {"type": "object"}, {"type": "object", "properties": {"b": {"maxLength": 3}}}])
TOOLS = st.dictionaries(
    NAMES, st.fixed_dictionaries({"parameters": SCHEMAS}, optional={"description": SOME_TEXT}), min_size=1, max_size=3
)
EFFORTS = ("none", "low", "medium", "high", "xhigh")
SAMPLING = {
    "stop": st.lists(SOME_TEXT.filter(str.strip), min_size=1, max_size=4),
    "max_tokens": st.integers(1, 64_000),
}


@st.composite
def wishes(draw: st.DrawFn) -> Json:
    """What both dialects can wish for, as OpenAI writes it. A demanded call has no form, and is not thought about."""
    asked = draw(st.fixed_dictionaries({"messages": st.just(HI)}, optional=SAMPLING))
    free = True
    if draw(st.booleans()):
        tools = draw(TOOLS)
        asked["tools"] = [{"type": "function", "function": {"name": name, **tools[name]}} for name in tools]
        named = {"type": "function", "function": {"name": draw(st.sampled_from([*tools]))}}
        asked["tool_choice"] = draw(st.sampled_from(["auto", "none", "required", named]))
        free = asked["tool_choice"] in ("auto", "none")
        if asked["tool_choice"] != "none":
            asked["parallel_tool_calls"] = draw(st.booleans())
    if free and draw(st.booleans()):
        asked["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    if draw(st.booleans()):
        asked["reasoning_effort"] = draw(st.sampled_from(EFFORTS if free else EFFORTS[:1]))
    else:
        sampled = draw(st.sampled_from(["temperature", "top_p"]))
        asked[sampled] = draw(st.floats(0, 1, exclude_max=True))
    return asked


def told(chat: Chat) -> Chat:
    """What a call wishes for, with the ceiling that one without it gets of us."""
    ceiling = chat.sampling.max_tokens or body.DEFAULT_MAX_TOKENS
    return replace(chat, messages=(), reminders=False, sampling=replace(chat.sampling, max_tokens=ceiling))


@settings(deadline=None)
@given(wishes())
def test_wishes_are_the_same_in_both_dialects(asked: Json):
    chat = of_openai(asked)
    over = of_anthropic(as_anthropic(chat))
    assert told(over) == told(chat)
    assert told(of_openai(as_openai(over))) == told(chat)
