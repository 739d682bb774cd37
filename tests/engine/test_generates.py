"""One generate call over a runner that plays its part. Source: recordings 42 to 46, Ollama 0.32 for the checks."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from appliance.engine.generates import Generates
from appliance.engine.llama import End, Piece, RunnerFailed
from tests.engine.played import CONTEXT, Desk, make_desk, opened

END = End("stop", "", 3, 1000, 2, 2000)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = await make_desk(tmp_path)
    async with opened(desk, Generates(desk.shelf, desk.clock).handle):
        yield desk


async def test_a_stream(desk: Desk):
    desk.runner.script = [Piece("see "), Piece("you"), END]
    status, text = await desk.send(prompt="two words", system="be brief")
    lines = [json.loads(line) for line in text.splitlines()]
    assert status == 200
    assert [line["response"] for line in lines] == ["see ", "you", ""]
    assert lines[-1]["done"] is True
    # The tokens of the whole exchange: a token is the length of a word here, and the prompt ends without a blank.
    assert lines[-1]["context"] == [2, 5, 3, 8, 3]


async def test_a_whole_answer(desk: Desk):
    desk.runner.script = [Piece("see "), Piece("you"), END]
    status, text = await desk.send(prompt="two words", stream=False)
    body = json.loads(text)
    assert (status, body["response"], body["context"]) == (200, "see you", [3, 8, 3])


async def test_raw_is_the_prompt_as_it_is_and_remembers_nothing(desk: Desk):
    desk.runner.script = [Piece("a"), END]
    _, text = await desk.send(prompt="one two three", raw=True, stream=False)
    assert "context" not in json.loads(text)
    assert desk.runner.bodies[-1]["prompt"] == [3, 3, 5]


async def test_an_earlier_exchange_stands_before_the_prompt(desk: Desk):
    desk.runner.script = [END]
    await desk.send(prompt="now", context=[4, 2], stream=False)
    assert desk.runner.bodies[-1]["prompt"] == [4, 2, 3]


@pytest.mark.parametrize("context", [[-1], [2**31], [10**18], [1, 7]])
async def test_tokens_that_the_model_does_not_have(desk: Desk, context: list[int]):
    desk.runner.vocabulary = 7
    status, text = await desk.send(prompt="now", context=context, stream=False)
    assert (status, text) == (400, "context holds a token that the model does not have")


async def test_an_earlier_exchange_that_is_too_long_is_not_looked_at(desk: Desk):
    desk.runner.vocabulary = 0
    status, text = await desk.send(prompt="now", context=[1] * CONTEXT)
    assert status == 400
    assert f'"n_prompt_tokens":{CONTEXT},"n_ctx":{CONTEXT}' in text


async def test_a_prompt_that_is_surely_too_long_is_not_tokenized(desk: Desk):
    for raw in (True, False):
        status, text = await desk.send(prompt="w" * 2**17, raw=raw)
        assert status == 400
        assert "exceed_context_size_error" in text
    assert desk.runner.longest == 0


async def test_a_format(desk: Desk):
    desk.runner.script = [END]
    await desk.send(prompt="now", format="json")
    assert "root ::= object" in str(desk.runner.bodies[-1]["grammar"])


async def test_load_and_unload(desk: Desk):
    status, text = await desk.send()
    assert (status, json.loads(text)["done_reason"]) == (200, "load")
    assert desk.runner.alive
    status, text = await desk.send(keep_alive=0)
    assert (status, json.loads(text)) == (
        200,
        {"model": "tiny", "created_at": "1970-01-01T00:00:00.000000000Z", "response": "", "done": True}
        | {"done_reason": "unload"},
    )
    assert not desk.runner.alive


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"model": "nope"}, 404, "model 'nope' not found"),
        ({"model": "vectors"}, 400, '"vectors" does not support generate'),
        ({"suffix": "x"}, 400, "tiny:latest does not support insert"),
        ({"think": True}, 400, '"tiny" does not support thinking'),
        ({"options": {"seed": "x"}}, 500, 'option "seed" must be of type integer'),
        ({"format": 3}, 500, 'invalid format: "3"; expected "json" or a valid JSON Schema object'),
    ],
)
async def test_what_is_wrong_is_said_before_the_model_is_loaded(
    desk: Desk, fields: dict[str, object], status: int, sentence: str
):
    assert await desk.send(prompt="Hi", **fields) == (status, sentence)
    assert not desk.runner.alive


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("truncate", [True, False])
async def test_a_prompt_that_does_not_fit_is_refused_and_not_cut(desk: Desk, raw: bool, truncate: bool):
    status, text = await desk.send(prompt="word " * CONTEXT, raw=raw, truncate=truncate)
    assert status == 400
    assert "exceed_context_size_error" in text


async def test_errors(desk: Desk):
    desk.runner.script = [RunnerFailed("gone")]
    assert await desk.send(prompt="Hi") == (500, "gone")
    desk.runner.script = [Piece("a"), RunnerFailed("gone")]
    _, text = await desk.send(prompt="Hi")
    assert text.splitlines()[1:] == ['{"error":"gone"}']
