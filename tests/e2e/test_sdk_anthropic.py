"""Anthropic's SDK in Python: agents, forced tools, its own errors, counting, and the list of models."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.types import Message

from tests.e2e import notes, weather
from tests.e2e.installation import Installation

WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
HI: Any = [{"role": "user", "content": "Hi"}]


def client_of(base: str, key: str) -> anthropic.AsyncAnthropic:
    http = anthropic.DefaultAsyncHttpxClient(trust_env=False)
    return anthropic.AsyncAnthropic(base_url=base, api_key=key, http_client=http, max_retries=0)


@pytest.fixture
async def client(installation: Installation) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with client_of(installation.base, installation.key) as made:
        yield made


async def ask(client: anthropic.AsyncAnthropic, asked: dict[str, Any], *, stream: bool) -> Message:
    """The whole answer, which the SDK adds up itself where it was streamed."""
    # Its signatures know no temperature any more.
    given: Any = {name: value for name, value in asked.items() if name != "temperature"}
    if "temperature" in asked:
        given["extra_body"] = {"temperature": asked["temperature"]}
    if not stream:
        return await client.messages.create(**given)
    async with client.messages.stream(**given) as answer:
        return await answer.get_final_message()


async def agent(
    client: anthropic.AsyncAnthropic, asked: dict[str, Any], result: str, *, stream: bool
) -> list[dict[str, Any]]:
    """Every tool call is run to its end; the answers."""
    answers: list[Message] = []
    messages = [*asked["messages"]]
    while not answers or answers[-1].stop_reason == "tool_use":
        answers.append(await ask(client, asked | {"messages": messages}, stream=stream))
        used = [block.id for block in answers[-1].content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call, "content": result} for call in used]
        messages += [{"role": "assistant", "content": answers[-1].content}, {"role": "user", "content": results}]
    return [answer.model_dump() for answer in answers]


@WAYS
@pytest.mark.parametrize("kind", notes.KINDS)
async def test_an_agent_of_two_steps(tmp_path: Path, kind: str, stream: bool):
    async with notes.noted(tmp_path / "state", kind) as made, client_of(made.gateway.url, made.gateway.key) as client:
        await made.check(await agent(client, notes.ASKED, notes.RESULT, stream=stream))


@WAYS
async def test_an_agent_of_two_steps_on_our_own_engine(client: anthropic.AsyncAnthropic, stream: bool):
    weather.check_loop(await agent(client, weather.asked(weather.QUESTION), weather.RESULT, stream=stream))


@WAYS
@pytest.mark.parametrize("question", [weather.QUESTION, weather.OTHER])
async def test_a_tool_is_called_that_was_named(client: anthropic.AsyncAnthropic, question: str, stream: bool):
    answer = await ask(client, weather.asked(question, tool_choice=weather.NAMED), stream=stream)
    weather.check_named(answer.model_dump())


@WAYS
@pytest.mark.parametrize("question", [weather.QUESTION, weather.OTHER])
async def test_some_tool_is_called_where_one_is_required(client: anthropic.AsyncAnthropic, question: str, stream: bool):
    answer = await ask(client, weather.asked(question, tool_choice=weather.REQUIRED), stream=stream)
    weather.check_required(answer.model_dump())


@WAYS
async def test_no_tool_is_called_where_none_may_be(client: anthropic.AsyncAnthropic, stream: bool):
    answer = await ask(client, weather.asked("Hello!", tool_choice={"type": "none"}), stream=stream)
    assert [block.type for block in answer.content] == ["text"]
    assert answer.stop_reason == "end_turn"


async def test_an_answer_that_is_cut_says_so(client: anthropic.AsyncAnthropic):
    answer = await client.messages.create(model="pulse-auto", max_tokens=3, messages=HI)
    assert (answer.stop_reason, answer.usage.output_tokens) == ("max_tokens", 3)


async def test_the_sdks_own_errors(installation: Installation, client: anthropic.AsyncAnthropic):
    async with client_of(installation.base, "sk_live_wrong") as stranger:
        with pytest.raises(anthropic.AuthenticationError) as unknown:
            await stranger.messages.create(model="pulse-auto", max_tokens=8, messages=HI)
    assert unknown.value.type == "authentication_error"
    assert unknown.value.request_id
    with pytest.raises(anthropic.NotFoundError):
        await client.messages.create(model="agent:nobody", max_tokens=8, messages=HI)
    with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
        await client.messages.create(model="pulse-auto", max_tokens=0, messages=HI)
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > \d+ maximum"):
        await client.messages.create(
            model="pulse-auto", max_tokens=8, messages=[{"role": "user", "content": "word " * 100_000}]
        )


async def test_a_prompt_is_counted_without_a_call(installation: Installation, client: anthropic.AsyncAnthropic):
    before = len(installation.ledger())
    short = await client.messages.count_tokens(model="pulse-auto", messages=HI)
    more: Any = {"system": "Be brief.", "tools": weather.TOOLS}
    long = await client.messages.count_tokens(model="pulse-auto", messages=HI, **more)
    assert 0 < short.input_tokens < long.input_tokens
    assert len(installation.ledger()) == before


async def test_the_list_of_models(client: anthropic.AsyncAnthropic):
    listed = [model async for model in client.models.list(limit=1000)]
    assert "pulse-auto" in [model.id for model in listed]
    assert {model.type for model in listed} == {"model"}
    one = await client.models.retrieve("pulse-auto")
    assert one in listed
