"""What becomes of a chat on the installation's machines: contexts, abilities, second tries, several answers."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.box import Box, box, sha256
from tests.upstreams.ollama import OllamaDouble, Script, answers, called, cuts, done, line, refuses, says

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CITY = {
    "type": "json_schema",
    "json_schema": {
        "name": "city",
        "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]}]


def sent(ollama: OllamaDouble, n: int = -1) -> Any:
    return orjson.loads(ollama.received[n])


@pytest.fixture
async def able(tmp_path: Path, ollama: OllamaDouble):
    """A gateway whose one model can do everything."""
    ollama.capabilities = ["completion", "tools", "vision", "thinking"]
    async with box(tmp_path / "able", ollama.url) as made:
        yield made


async def test_one_context_length_is_sent_with_every_call(tmp_path: Path, ollama: OllamaDouble):
    ollama.context_length = 2048
    async with box(tmp_path / "state", ollama.url) as gateway:
        for text in ("short", "longer " * 500):
            await gateway.chat(gateway.body(text))
    assert [sent(ollama, n)["options"]["num_ctx"] for n in range(2)] == [2048, 2048]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_prompt_that_cannot_fit_is_refused_before_it_is_sent(gateway: Box, ollama: OllamaDouble, stream: bool):
    answer = await gateway.chat(gateway.body("word " * 20_000, stream=stream))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert "maximum context length is 8192 tokens" in answer.json()["error"]["message"]
    assert ollama.received == []
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert (said["response"]["ending"], said["egress"]["attempts"]) == ("refused", 0)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_machine_that_cuts_in_silence_is_noticed(gateway: Box, ollama: OllamaDouble, stream: bool):
    ollama.default = cuts("Hel", "lo", context=8192)
    answer = await gateway.chat(gateway.body("word " * 10_000, stream=stream))
    assert answer.status_code == 200
    assert '"finish_reason":"length"' in answer.text
    proof_id = answer.headers["x-pulse-proof"]
    assert (await gateway.certificate(proof_id))["response"]["ending"] == "context_cut"
    assert (await gateway.ledger(proof_id)).ending == "context_cut"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (("-" * 800 + "\n") * 31, 4_098),  # many dashes to a token, and just what a cut would leave
        ("international understanding " * 2_000, 4_098),
        ("a" * 60_000, 2_000),
    ],
)
async def test_a_text_with_long_tokens_was_not_cut(gateway: Box, ollama: OllamaDouble, text: str, read: int):
    ollama.default = says(line("Hi"), done(prompt=read))
    answer = await gateway.chat(gateway.body(text))
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "complete"


async def test_tools_that_the_model_is_not_told_of_take_no_room(gateway: Box, ollama: OllamaDouble):
    described = {"type": "object", "properties": {"city": {"type": "string", "description": "x" * 1000}}}
    tools = [{"type": "function", "function": {"name": f"t{n}", "parameters": described}} for n in range(99)]
    ollama.default = RIGHT
    for choice in ("none", {"type": "function", "function": {"name": "t0"}}):
        answer = await gateway.chat(tools=tools, tool_choice=choice)
        assert answer.status_code == 200
        assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "complete"


async def test_more_turns_than_the_context_has_room_for_are_refused_unsent(gateway: Box, ollama: OllamaDouble):
    answer = await gateway.chat(gateway.body(messages=[{"role": "user", "content": "a"}] * 9_000))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert ollama.received == []


@pytest.mark.parametrize(
    ("asked", "capability", "param"),
    [
        ({"tools": [WEATHER]}, "tools", "tools"),
        ({"messages": PICTURE}, "vision", "messages"),
    ],
)
async def test_what_the_model_cannot_do_is_refused_by_name(
    gateway: Box, ollama: OllamaDouble, asked: dict[str, Any], capability: str, param: str
):
    answer = await gateway.chat(gateway.body(**asked))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert capability in answer.json()["error"]["message"]
    assert ollama.received == []
    assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "refused"


async def test_thinking_is_asked_only_of_a_model_that_can(gateway: Box, ollama: OllamaDouble):
    answer = await gateway.chat(reasoning_effort="high")
    assert answer.status_code == 200
    assert "think" not in sent(ollama)


WRONG: dict[str, Script] = {
    "not JSON": answers("the city is Paris"),
    "the wrong JSON": answers('{"town":"Paris"}'),
}
RIGHT = answers('{"city":', '"Paris"}')


@pytest.mark.parametrize("name", WRONG)
async def test_a_structured_answer_is_checked_and_tried_once_more(gateway: Box, ollama: OllamaDouble, name: str):
    ollama.scripts.extend([WRONG[name], RIGHT])
    answer = await gateway.chat(response_format=CITY)
    assert answer.json()["choices"][0]["message"]["content"] == '{"city":"Paris"}'
    assert sent(ollama)["format"] == CITY["json_schema"]["schema"]  # type: ignore[index]  a mapping
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["egress"]["attempts"] == 2
    assert said["response"]["textSha256"] == sha256('{"city":"Paris"}')


@pytest.mark.parametrize("name", WRONG)
async def test_a_structured_answer_that_stays_wrong_is_no_answer(gateway: Box, ollama: OllamaDouble, name: str):
    ollama.default = WRONG[name]
    answer = await gateway.chat(response_format=CITY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
    assert "format" in answer.json()["error"]["message"]
    assert len(ollama.received) == 2


async def test_a_streamed_structured_answer_that_is_wrong_ends_as_a_failure(gateway: Box, ollama: OllamaDouble):
    ollama.default = WRONG["the wrong JSON"]
    answer = await gateway.chat(response_format=CITY, stream=True)
    assert '"error"' in answer.text
    assert "[DONE]" not in answer.text
    assert len(ollama.received) == 1


async def test_a_structured_answer_cut_by_the_ceiling_says_so_and_is_not_tried_again(
    gateway: Box, ollama: OllamaDouble
):
    ollama.default = answers('{"city":', reason="length")
    answer = await gateway.chat(response_format={"type": "json_object"}, max_tokens=3)
    assert answer.json()["choices"][0]["finish_reason"] == "length"
    assert len(ollama.received) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_beside_tools_a_text_that_is_not_in_the_format_is_asked_for_again_in_it(
    able: Box, ollama: OllamaDouble, stream: bool
):
    ollama.scripts.extend([answers("The city is Paris."), RIGHT])
    answer = await able.chat(tools=[WEATHER], response_format=CITY, stream=stream)
    assert "error" not in answer.text
    assert "The city is" not in answer.text
    assert ["tools" in sent(ollama, n) for n in range(2)] == [True, False]
    said = await able.certificate(answer.headers["x-pulse-proof"])
    assert said["response"]["textSha256"] == sha256('{"city":"Paris"}')


async def test_usage_counts_the_try_that_was_thrown_away(gateway: Box, ollama: OllamaDouble):
    wrong = says(line("no"), done(prompt=100, completion=20))
    ollama.scripts.extend([wrong, says(line('{"city":"Paris"}'), done(prompt=7, completion=5))])
    answer = await gateway.chat(response_format=CITY)
    assert answer.json()["usage"] == {"prompt_tokens": 107, "completion_tokens": 25, "total_tokens": 132}
    proof_id = answer.headers["x-pulse-proof"]
    assert (await gateway.certificate(proof_id))["usage"] == {"promptTokens": 107, "completionTokens": 25}
    row = await gateway.ledger(proof_id)
    assert (row.prompt_tokens, row.completion_tokens) == (107, 25)


@pytest.mark.parametrize("asked", [{"response_format": CITY}, {"tools": [WEATHER], "tool_choice": "required"}])
async def test_the_ledger_counts_tries_that_all_came_to_nothing(
    gateway: Box, ollama: OllamaDouble, asked: dict[str, Any]
):
    ollama.default = says(line("no"), done(prompt=100, completion=20))
    answer = await gateway.chat(**asked)
    assert answer.status_code == 502
    assert (await gateway.ledger(answer.headers["x-pulse-proof"])).prompt_tokens == 200


async def test_a_format_that_a_stop_sequence_broke_says_so(gateway: Box, ollama: OllamaDouble):
    ollama.default = answers('{"city":')
    answer = await gateway.chat(response_format=CITY, stop=["Paris"])
    assert "Leave `stop` out" in answer.json()["error"]["message"]


FORCED = {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
async def test_a_demanded_call_is_had_by_schema(gateway: Box, ollama: OllamaDouble, choice: Any, stream: bool):
    """dialects.md §1.3: Ollama has no `tool_choice`."""
    ollama.default = RIGHT
    answer = await gateway.chat(tools=[WEATHER], tool_choice=choice, stream=stream)
    assert "tools" not in sent(ollama)
    assert sent(ollama)["format"]["required"] == ["city"]
    assert "get_weather" in answer.text
    assert '"finish_reason":"tool_calls"' in answer.text


@pytest.mark.parametrize("stream", [False, True])
async def test_a_demanded_call_that_comes_out_wrong_is_tried_once_more(
    gateway: Box, ollama: OllamaDouble, stream: bool
):
    ollama.scripts.extend([answers("Paris!"), RIGHT])
    answer = await gateway.chat(**FORCED, stream=stream)
    assert "get_weather" in answer.text
    ollama.default = answers("Paris!")
    refused = await gateway.chat(**FORCED, stream=stream)
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "upstream_error")


async def test_no_tool_is_offered_where_none_may_be_called(gateway: Box, ollama: OllamaDouble):
    assert (await gateway.chat(tools=[WEATHER], tool_choice="none")).status_code == 200
    assert "tools" not in sent(ollama)


@pytest.mark.parametrize("stream", [False, True])
async def test_several_answers(gateway: Box, ollama: OllamaDouble, stream: bool):
    ollama.scripts.extend([answers("one"), answers("two", reason="length"), answers("three")])
    answer = await gateway.chat(n=3, seed=7, stream=stream, stream_options={"include_usage": True})
    assert sorted(sent(ollama, n)["options"]["seed"] for n in range(3)) == [7, 8, 9]
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["egress"]["attempts"] == 3
    assert said["response"]["ending"] == "length"
    assert said["usage"] == {"promptTokens": 7, "completionTokens": 3}
    if not stream:
        choices = answer.json()["choices"]
        assert [choice["index"] for choice in choices] == [0, 1, 2]
        assert sorted(choice["message"]["content"] for choice in choices) == ["one", "three", "two"]
        text = "".join(choice["message"]["content"] for choice in choices)
        assert said["response"]["textSha256"] == sha256(text)
        hashes = {sha256(body): orjson.loads(body)["options"]["seed"] for body in ollama.received}
        in_order = sorted(hashes, key=lambda one: hashes[one])
        assert said["egress"]["sha256"] == sha256("\n".join(in_order))


async def test_one_answer_of_several_that_fails_ends_the_call(gateway: Box, ollama: OllamaDouble):
    ollama.scripts.extend([answers("one"), refuses(400, "no")])
    answer = await gateway.chat(n=2)
    assert answer.status_code == 400
    assert gateway.app.drain.in_flight == 0


async def test_a_model_that_can_think_thinks_as_asked_and_apart_from_its_answer(able: Box, ollama: OllamaDouble):
    ollama.default = says(line(thinking="Let me think."), line("Four."), done())
    for effort, think in (("none", False), ("low", "low"), ("high", "high")):
        answer = await able.chat(reasoning_effort=effort)
        assert sent(ollama)["think"] == think
    message = answer.json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Four.", "Let me think.")
    said = await able.certificate(answer.headers["x-pulse-proof"])
    assert said["response"]["textSha256"] == sha256("Four.")


async def test_a_picture_goes_to_a_model_that_sees(able: Box, ollama: OllamaDouble):
    answer = await able.chat(messages=PICTURE)
    assert answer.status_code == 200
    assert sent(ollama)["messages"][0]["images"] == [PNG]


async def test_tool_calls_of_the_model_itself(able: Box, ollama: OllamaDouble):
    gateway = able
    ollama.default = says(
        line("Let me see."), line(tool_calls=[called("get_weather", {"city": "Paris"})]), done("stop")
    )
    answer = await gateway.chat(tools=[WEATHER])
    message = answer.json()["choices"][0]["message"]
    assert message["content"] == "Let me see."
    (call,) = message["tool_calls"]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    assert call["id"].startswith("call_")
    assert answer.json()["pulse"]["task"] == "agent"
    assert sent(ollama)["tools"][0]["function"]["name"] == "get_weather"
