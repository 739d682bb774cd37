"""Every parameter of a chat call, honoured or refused, in whole and streamed answers (dialects.md §1.1)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.box import Box, box
from tests.upstreams.ollama import OllamaDouble, answers

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "object"}


@pytest.fixture
async def able(tmp_path: Path, ollama: OllamaDouble):
    """A gateway whose one model can do everything."""
    ollama.capabilities = ["completion", "tools", "vision", "thinking"]
    async with box(tmp_path / "state", ollama.url) as made:
        yield made


def option(name: str, value: object) -> Callable[[Any], bool]:
    return lambda sent: sent["options"][name] == value


def field(name: str, value: object) -> Callable[[Any], bool]:
    return lambda sent: sent[name] == value


def nothing(sent: Any) -> bool:
    """The body of a call that brings no parameter at all."""
    return set(sent) == {"model", "messages", "stream", "truncate", "options"} and set(sent["options"]) == {"num_ctx"}


HONOURED: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "temperature": ({"temperature": 0.3}, option("temperature", 0.3)),
    "top_p": ({"top_p": 0.5}, option("top_p", 0.5)),
    "frequency_penalty": ({"frequency_penalty": 1.5}, option("frequency_penalty", 1.5)),
    "presence_penalty": ({"presence_penalty": -1}, option("presence_penalty", -1)),
    "seed": ({"seed": 9}, option("seed", 9)),
    "stop": ({"stop": "END"}, option("stop", ["END"])),
    "stop, several": ({"stop": ["A", "B", "C", "D", "E"]}, option("stop", ["A", "B", "C", "D", "E"])),
    "max_tokens": ({"max_tokens": 5}, option("num_predict", 5)),
    "max_completion_tokens": ({"max_completion_tokens": 6, "max_tokens": 5}, option("num_predict", 6)),
    "tools": ({"tools": [TOOL]}, lambda sent: sent["tools"][0]["function"]["name"] == "f"),
    "functions": ({"functions": [TOOL["function"]]}, lambda sent: sent["tools"][0]["function"]["name"] == "f"),
    "tool_choice none": ({"tools": [TOOL], "tool_choice": "none"}, lambda sent: "tools" not in sent),
    "response_format json_object": ({"response_format": {"type": "json_object"}}, field("format", "json")),
    "response_format json_schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}},
        field("format", SCHEMA),
    ),
    "logprobs": ({"logprobs": True}, field("logprobs", True)),
    "top_logprobs": ({"logprobs": True, "top_logprobs": 3}, field("top_logprobs", 3)),
    "reasoning_effort": ({"reasoning_effort": "low"}, field("think", "low")),
}
"""Each with what the machine must have been sent."""

WITHOUT_EFFECT: dict[str, dict[str, Any]] = {
    "null everywhere": dict.fromkeys(
        ("temperature", "top_p", "seed", "stop", "max_tokens", "tools", "response_format", "n", "logprobs", "user")
    ),
    "no ceiling": {"max_tokens": 0, "max_completion_tokens": -1},
    "empty lists": {"tools": [], "stop": [], "logit_bias": {}},
    "text format": {"response_format": {"type": "text"}},
    "hints": {
        "user": "somebody",
        "metadata": {"a": "b"},
        "store": True,
        "service_tier": "auto",
        "safety_identifier": "x",
        "prompt_cache_key": "y",
        "verbosity": "low",
        "prediction": {"type": "content", "content": "z"},
    },
    "unknown": {"some_field_of_tomorrow": {"deep": [1, 2, 3]}},
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "temperature too high": ({"temperature": 3}, "temperature"),
    "temperature a boolean": ({"temperature": True}, "temperature"),
    "seed a fraction": ({"seed": 1.5}, "seed"),
    "stop a number": ({"stop": 7}, "stop"),
    "stream a number": ({"stream": 1}, "stream"),
    "n zero": ({"n": 0}, "n"),
    "n too many": ({"n": 9}, "n"),
    "logit_bias": ({"logit_bias": {"50256": -100}}, "logit_bias"),
    "top_logprobs alone": ({"top_logprobs": 3}, "top_logprobs"),
    "modalities": ({"modalities": ["text", "audio"]}, "modalities"),
    "audio": ({"audio": {"voice": "a"}}, "audio"),
    "web_search_options": ({"web_search_options": {}}, "web_search_options"),
    "a tool that is no function": ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    "effort unknown": ({"reasoning_effort": "heroic"}, "reasoning_effort"),
    "a picture by URL": (
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}
            ]
        },
        "messages[0].content[0]",
    ),
    "a picture by path": (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/etc/passwd"}}]}]},
        "messages[0].content[0]",
    ),
    "audio in": (
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
        "messages[0].content[0]",
    ),
    "a file": (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {}}]}]},
        "messages[0].content[0]",
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", HONOURED)
async def test_honoured(able: Box, ollama: OllamaDouble, name: str, stream: bool):
    asked, reached = HONOURED[name]
    ollama.default = answers("{}")
    answer = await able.chat(**asked, stream=stream)
    assert answer.status_code == 200, answer.text
    assert '"error"' not in answer.text
    assert reached(orjson.loads(ollama.received[-1]))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", WITHOUT_EFFECT)
async def test_accepted_without_effect(able: Box, ollama: OllamaDouble, name: str, stream: bool):
    answer = await able.chat(**WITHOUT_EFFECT[name], stream=stream)
    assert answer.status_code == 200, answer.text
    assert nothing(orjson.loads(ollama.received[-1]))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", REFUSED)
async def test_refused_by_name(able: Box, ollama: OllamaDouble, name: str, stream: bool):
    asked, param = REFUSED[name]
    answer = await able.chat(able.body(**{"stream": stream, **asked}))
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"].startswith(param)
    assert ollama.received == []


async def test_a_responses_body_is_told_what_to_change(able: Box):
    answer = await able.chat(orjson.dumps({"model": "gpt-4o", "input": "Hello"}))
    assert answer.status_code == 400
    assert "Responses" in answer.json()["error"]["message"]
