"""One chat call over a runner that plays its part: what is answered when, and with which status."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from appliance.engine.calls import OPENING
from appliance.engine.chats import Chats
from appliance.engine.llama import End, Event, Piece, RunnerFailed
from appliance.engine.refusal import Refused
from appliance.engine.tools import ToolCall
from tests.engine.played import Desk, make_desk, opened
from tests.waiting import until

END = End("stop", "", 3, 1000, 2, 2000)
HI = [{"role": "user", "content": "Hi"}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
CALLED = {"id": "id0", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}


@contextlib.asynccontextmanager
async def at(directory: Path, **changes: object) -> AsyncIterator[Desk]:
    desk = await make_desk(directory, **changes)
    numbers = itertools.count()
    async with opened(desk, Chats(desk.shelf, desk.clock, lambda: f"id{next(numbers)}").handle):
        yield desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with at(tmp_path) as desk:
        yield desk


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Desk]:
    """A model that calls tools by our own template."""
    async with at(tmp_path, tools="tagged") as desk:
        yield desk


async def ask(desk: Desk, **fields: object) -> tuple[int, str]:
    return await desk.send(**{"messages": HI} | fields)


async def lines(desk: Desk, **fields: object) -> list[dict[str, object]]:
    status, text = await ask(desk, **fields)
    assert status == 200, text
    return [json.loads(line) for line in text.splitlines()]


async def test_a_stream(desk: Desk):
    desk.runner.script = [Piece("a"), Piece("b"), END]
    answer = await lines(desk)
    assert [line["message"]["content"] for line in answer] == ["a", "b", ""]
    assert [line["done"] for line in answer] == [False, False, True]


async def test_an_answer_without_text(desk: Desk):
    desk.runner.script = [END]
    status, text = await ask(desk)
    assert (status, json.loads(text)["done"]) == (200, True)


async def test_a_whole_answer(desk: Desk):
    desk.runner.script = [Piece("a"), Piece("b"), END]
    status, text = await ask(desk, stream=False)
    assert (status, json.loads(text)["message"]["content"]) == (200, "ab")


@pytest.mark.parametrize("stream", [True, False])
async def test_an_error_before_the_first_piece_has_a_status(desk: Desk, stream: bool):
    desk.runner.script = [RunnerFailed("gone")]
    assert await ask(desk, stream=stream) == (500, "gone")
    desk.runner.script = [Refused(400, "no")]
    assert await ask(desk, stream=stream) == (400, "no")


async def test_an_error_after_the_first_piece_is_the_last_line(desk: Desk):
    desk.runner.script = [Piece("a"), RunnerFailed("gone")]
    status, text = await ask(desk)
    assert status == 200
    assert text.splitlines()[1:] == ['{"error":"gone"}']


async def test_a_whole_answer_that_breaks_off_is_an_error_only(desk: Desk):
    desk.runner.script = [Piece("a"), RunnerFailed("gone")]
    assert await ask(desk, stream=False) == (500, "gone")


async def test_the_context_is_a_ceiling_and_a_smaller_one_is_honoured(desk: Desk):
    desk.runner.script = [END]
    for num_ctx, answer in ((None, 99), (50, 49), (1_000_000, 99)):
        await ask(desk, options={"num_ctx": num_ctx})
        assert desk.runner.bodies[-1]["n_predict"] == answer
    status, text = await ask(desk, options={"num_ctx": 1})
    assert status == 400
    assert "exceed_context_size_error" in text


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"model": "nope"}, 404),
        ({"think": True}, 400),
        ({"options": {"seed": "x"}}, 500),
        ({"messages": 3}, 400),
        ({"format": "xml"}, 500),
        ({"format": {"not": {}}}, 400),
        ({"tools": TOOLS}, 400),
        ({"model": "vectors"}, 400),
    ],
)
async def test_what_is_wrong_is_said_before_the_model_is_loaded(desk: Desk, fields: dict[str, object], status: int):
    assert (await ask(desk, **fields))[0] == status
    assert not desk.runner.alive
    assert not desk.embedder.alive


async def test_load_and_unload(desk: Desk):
    status, text = await ask(desk, messages=[])
    assert (status, json.loads(text)["done_reason"]) == (200, "load")
    assert desk.runner.alive
    status, text = await ask(desk, messages=[], keep_alive=0)
    assert (status, json.loads(text)["done_reason"]) == (200, "unload")
    assert not desk.runner.alive


async def test_the_embedding_model_does_not_chat_but_can_be_unloaded(desk: Desk):
    assert await ask(desk, model="vectors") == (400, '"vectors" does not support chat')  # recording 56
    await desk.embedder.start()
    status, text = await ask(desk, model="vectors:latest", messages=[], keep_alive=0)
    assert (status, json.loads(text)["done_reason"]) == (200, "unload")
    assert not desk.embedder.alive


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("script", [[], [Piece("a")]])
async def test_a_caller_who_leaves_ends_the_completion(desk: Desk, stream: bool, script: list[Event]):
    desk.runner.script = list(script)
    desk.runner.stalls = True
    call = asyncio.create_task(ask(desk, stream=stream))
    await until(lambda: bool(desk.runner.bodies))
    call.cancel()
    await asyncio.wait([call])
    await until(lambda: desk.runner.closed == 1)
    assert desk.text.residence.seconds_left is not None


async def test_a_format_holds_the_answer_to_its_grammar(desk: Desk):
    desk.runner.script = [Piece("{}"), END]
    await ask(desk)
    assert "grammar" not in desk.runner.bodies[-1]
    await ask(desk, format={"type": "object", "properties": {"city": {"type": "string"}}})
    assert "city" in str(desk.runner.bodies[-1]["grammar"])
    assert "grammar_lazy" not in desk.runner.bodies[-1]


class TestTools:
    async def test_streamed(self, caller: Desk):
        caller.runner.script = [Piece("Let"), Piece(" me. <tool"), *(Piece(letter) for letter in CALL[5:]), END]
        answer = await lines(caller, tools=TOOLS)
        assert [line["message"] for line in answer] == [
            {"role": "assistant", "content": "Let"},
            {"role": "assistant", "content": " me."},
            {"role": "assistant", "content": "", "tool_calls": [CALLED]},
            {"role": "assistant", "content": ""},
        ]
        assert (answer[-1]["done"], answer[-1]["done_reason"]) == (True, "stop")

    async def test_whole(self, caller: Desk):
        caller.runner.script = [Piece("Let me. " + CALL), END]
        (answer,) = await lines(caller, tools=TOOLS, stream=False)
        assert answer["message"] == {"role": "assistant", "content": "Let me.", "tool_calls": [CALLED]}

    async def test_the_template_gets_the_tools_and_the_call_its_grammar(self, caller: Desk):
        caller.runner.script = [END]
        await ask(caller, tools=TOOLS)
        assert [tool.name for tool in caller.runner.tools] == ["f"]
        body = caller.runner.bodies[-1]
        assert body["grammar_lazy"] is True
        assert body["grammar_triggers"] == [{"type": 1, "value": OPENING}]

    async def test_the_model_may_have_options_of_its_own_for_calls(self, tmp_path: Path):
        async with at(tmp_path, tools="tagged", with_tools={"temperature": 0.0}) as desk:
            desk.runner.script = [END]
            for fields, temperature in (
                ({}, 0.8),
                ({"tools": TOOLS}, 0.0),
                ({"tools": TOOLS, "options": {"temperature": 0.5}}, 0.5),
            ):
                await ask(desk, **fields)
                assert desk.runner.bodies[-1]["temperature"] == temperature

    async def test_without_tools_nothing_is_looked_for(self, caller: Desk):
        caller.runner.script = [Piece(CALL), END]
        (answer,) = await lines(caller, stream=False)
        assert answer["message"] == {"role": "assistant", "content": CALL}

    @pytest.mark.parametrize("stream", [True, False])
    async def test_a_call_that_was_cut_off_is_text_and_says_so(self, caller: Desk, stream: bool):
        caller.runner.script = [Piece(CALL[:20]), End("length", "", 3, 1, 2, 1)]
        answer = await lines(caller, tools=TOOLS, stream=stream)
        assert "".join(line["message"]["content"] for line in answer) == CALL[:20]
        assert answer[-1]["done_reason"] == "length"

    async def test_a_format_beside_tools_wins_and_an_answer_that_is_a_call_is_one(self, caller: Desk):
        shape = {"type": "object", "properties": {"name": {"const": "f"}, "arguments": {"type": "object"}}}
        caller.runner.script = [Piece('{"name": "f", '), Piece('"arguments": {"a": 1}}'), END]
        answer = await lines(caller, tools=TOOLS, format=shape)  # as in recording 207
        assert [line["message"].get("tool_calls") for line in answer] == [[CALLED], None]
        assert "grammar_lazy" not in caller.runner.bodies[-1]
        caller.runner.script = [Piece('{"city": "Paris"}'), END]
        (answer,) = await lines(caller, tools=TOOLS, format="json", stream=False)
        assert answer["message"] == {"role": "assistant", "content": '{"city": "Paris"}'}

    async def test_a_model_that_llama_cpp_calls_tools_with(self, tmp_path: Path):
        async with at(tmp_path, tools="native") as desk:
            desk.runner.script = [Piece("a"), ToolCall("f", {"a": 1}, "id0", 0), END]
            (answer,) = await lines(desk, tools=TOOLS, stream=False)
            assert answer["message"] == {"role": "assistant", "content": "a", "tool_calls": [CALLED]}
            assert desk.runner.bodies[-1]["messages"] == HI
            assert "grammar" not in desk.runner.bodies[-1]
            desk.runner.script = [Piece("{}"), END]
            await ask(desk, tools=TOOLS, format="json")
            assert "prompt" in desk.runner.bodies[-1]
            status, text = await ask(desk, tools=TOOLS, logprobs=True)
            assert (status, text) == (400, "tiny:latest does not support logprobs together with tools")

    async def test_a_caller_who_leaves_ends_the_completion(self, caller: Desk):
        caller.runner.stalls = True
        call = asyncio.create_task(ask(caller, tools=TOOLS))
        await until(lambda: bool(caller.runner.bodies))
        call.cancel()
        await asyncio.wait([call])
        await until(lambda: caller.runner.closed == 1)
