"""The body of a chat. Sources: dialects.md §1.1 and §1.2; the types of PyPI `anthropic` 2.14.0; `anthropic_rules`."""

import json
from dataclasses import replace
from typing import Any

import pytest

from appliance.dialects.anthropic.body import DEFAULT_MAX_TOKENS, written
from appliance.dialects.anthropic.refusals import refusal
from appliance.dialects.anthropic.stream import Reader
from appliance.dialects.chat import (
    Chat,
    DialectError,
    Effort,
    Format,
    Message,
    Sampling,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
)
from tests.upstreams.anthropic_rules import problem

HI = Chat((Message("user", (Text("hi"),)),))
F = Tool("f")
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


def body(chat: Chat, **more: Any) -> dict[str, Any]:
    """The body, which the API would take."""
    made = json.loads(written(chat, model="claude-x", new_id=str, **more).body)
    assert problem(made) is None
    return made


def sampled(**wanted: Any) -> dict[str, Any]:
    return body(replace(HI, sampling=Sampling(**wanted)))


def refused(chat: Chat) -> DialectError:
    with pytest.raises(DialectError) as error:
        written(chat, model="claude-x", new_id=str)
    return error.value


def test_the_call():
    made = written(HI, model="claude-x", new_id=str)
    assert (made.path, made.headers) == ("/v1/messages", {"anthropic-version": "2023-06-01"})
    assert made.body == (
        b'{"model":"claude-x","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],'
        b'"stream":true}'
    )
    assert isinstance(made.reader(), Reader)
    assert made.refusal is refusal


def test_every_wish():
    chat = Chat(
        (
            Message("system", (Text("Be terse."),)),
            Message("user", (Text("go"),)),
            Message("assistant", (), (ToolCall("c1", "f", '{"z": 1, "a": 2}'),)),
            Message("tool", (Text("done"),), tool_call_id="c1"),
        ),
        Sampling(temperature=0.5, stop=("END",), max_tokens=40, frequency_penalty=0.0, presence_penalty=0.0),
        tools=(F,),
        parallel=False,
        format=Format(CLOSED),
        effort="low",
    )
    made = body(chat)
    assert [*made] == [
        "model", "max_tokens", "system", "messages", "tools", "tool_choice", "stop_sequences", "temperature",
        "output_config", "stream",
    ]  # fmt: skip
    assert made["system"] == [{"type": "text", "text": "Be terse."}]
    assert (made["max_tokens"], made["stop_sequences"], made["temperature"]) == (40, ["END"], 0.5)
    assert made["output_config"] == {"format": {"type": "json_schema", "schema": CLOSED}, "effort": "low"}
    assert b'"input":{"z": 1, "a": 2}' in written(chat, model="m", new_id=str).body


class TestCeiling:
    def test_the_api_demands_one(self):
        assert body(HI)["max_tokens"] == DEFAULT_MAX_TOKENS
        assert body(HI, default_max_tokens=8192)["max_tokens"] == 8192

    def test_the_callers_own_is_kept(self):
        assert sampled(max_tokens=5)["max_tokens"] == 5


class TestSampling:
    @pytest.mark.parametrize("wish", [{"temperature": 0.0}, {"temperature": 0.7}, {"top_p": 0.0}, {"top_p": 0.9}])
    def test_one_number_is_sent(self, wish: dict[str, float]):
        made = sampled(**wish)
        assert {name: made[name] for name in made if name in ("temperature", "top_p")} == wish

    @pytest.mark.parametrize("wish", [{"temperature": 1.0}, {"top_p": 1.0}, {"temperature": 1.0, "top_p": 1.0}])
    def test_what_the_model_does_by_itself_is_not_sent(self, wish: dict[str, float]):
        assert not {"temperature", "top_p"} & sampled(**wish).keys()

    def test_the_other_number_may_be_the_models_own(self):
        assert sampled(temperature=1.0, top_p=0.9)["top_p"] == 0.9
        assert sampled(temperature=0.2, top_p=1.0)["temperature"] == 0.2

    @pytest.mark.parametrize(
        ("wish", "param"),
        [
            ({"temperature": 1.1}, "temperature"),
            ({"temperature": 0.5, "top_p": 0.5}, "top_p"),
            ({"seed": 0}, "seed"),
            ({"frequency_penalty": 0.1}, "frequency_penalty"),
            ({"presence_penalty": -0.1}, "presence_penalty"),
            ({"top_logprobs": 0}, "logprobs"),
            ({"stop": ("END", "\n")}, "stop"),
        ],
    )
    def test_what_the_api_cannot_do_is_named(self, wish: dict[str, Any], param: str):
        error = refused(replace(HI, sampling=Sampling(**wish)))
        assert error.param == param
        assert f"`{param}`" in error.message

    def test_several_answers_are_several_calls(self):
        assert refused(replace(HI, choices=2)).param == "n"


class TestEffort:
    @pytest.mark.parametrize(
        ("effort", "expected"),
        [
            ("minimal", "low"),
            ("low", "low"),
            ("medium", "medium"),
            ("high", "high"),
            ("xhigh", "xhigh"),
            ("max", "max"),
        ],
    )
    def test_effort_is_said_and_thinking_left_to_the_model(self, effort: Effort, expected: str):
        made = body(replace(HI, effort=effort))
        assert made["output_config"] == {"effort": expected}
        assert made["thinking"] == {"type": "adaptive"}

    def test_no_thinking_at_all(self):
        made = body(replace(HI, effort="none"))
        assert made["thinking"] == {"type": "disabled"}
        assert "output_config" not in made

    def test_unset_sends_nothing(self):
        assert not {"thinking", "output_config"} & body(HI).keys()

    @pytest.mark.parametrize(
        "wish",
        [
            {"tools": (F,), "tool_choice": ToolChoice("required")},
            {"format": Format()},
            {"sampling": Sampling(temperature=0.2)},
            {"sampling": Sampling(top_p=0.2)},
        ],
    )
    def test_where_the_api_forbids_thinking_only_the_effort_is_said(self, wish: dict[str, Any]):
        made = body(replace(HI, effort="high", **wish))
        assert made["output_config"]["effort"] == "high"
        assert "thinking" not in made


def test_json_of_any_kind_is_a_tools_input_and_read_as_text():
    made = written(replace(HI, format=Format()), model="m", new_id=str)
    (tool,) = json.loads(made.body)["tools"]
    reader = made.reader()
    for line in (
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", **tool}},
    ):
        assert reader.read("", json.dumps(line)) == ()
    delta = {"type": "input_json_delta", "partial_json": '{"a"'}
    (event,) = reader.read("", json.dumps({"type": "content_block_delta", "index": 0, "delta": delta}))
    assert event.text == '{"a"'  # type: ignore[union-attr]
