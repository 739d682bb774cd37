"""Tools' inputs in their own text. Source: RFC 8259, section 6 (numbers beyond 64 bits are valid)."""

import json
from typing import Any

import pytest

from appliance.dialects.anthropic.inputs import long_inputs
from appliance.dialects.anthropic.request import parse
from appliance.dialects.openai.written import body

LONG = 2**70 + 1
Json = dict[str, Any]


def call(given: object, **fields: object) -> Json:
    return {"type": "tool_use", "id": "t", "name": "f", "input": given, **fields}


def written(*blocks: object) -> bytes:
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": [*blocks]}]
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "y"}]
    return json.dumps({"max_tokens": 5, "messages": [*turns, {"role": "user", "content": result}]}).encode()


def test_each_has_the_path_of_its_block():
    found = long_inputs(written({"type": "text", "text": "input"}, call({"n": LONG}), call([-LONG])))
    assert found == {"messages[1].content[1]": f'{{"n": {LONG}}}', "messages[1].content[2]": f"[-{LONG}]"}


def test_where_no_number_is_long_there_is_nothing_to_keep():
    assert long_inputs(written(call({"n": 10**17, "m": 1.5}))) == {}


@pytest.mark.parametrize("messages", ["x", 1, None, [1, "x", None, ["input"]], [{"content": "x"}], [{"content": [1]}]])
def test_what_is_no_block_has_none(messages: object):
    assert long_inputs(json.dumps({"messages": messages, "n": LONG}).encode()) == {}
    assert long_inputs(f'{{"n": {LONG}}}'.encode()) == {}


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, LONG, -(2**63) - 1])
def test_a_long_number_reaches_another_dialect_as_it_was(number: int):
    chat = parse(written(call({"id": number, "é": ["a", 1]}))).chat
    arguments = body(chat, model="m", compatible=False)["messages"][1]["tool_calls"][0]["function"]["arguments"]  # type: ignore[index]
    assert json.loads(arguments) == {"id": number, "é": ["a", 1]}


@pytest.mark.parametrize("given", [None, {}])
def test_nothing_given_is_an_empty_object(given: object):
    chat = parse(written(call(given), {"type": "text", "text": str(LONG)})).chat
    assert chat.messages[1].tool_calls[0].arguments == "{}"
