"""The runner on the real llama.cpp and the bundled model."""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.engine.llama import End, Event, Piece, RunnerFailed, completion_body
from appliance.engine.models import load_model
from appliance.engine.options import Options
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message
from appliance.engine.runner import Runner, RunnerSettings
from appliance.errors import EngineError
from tests.engine.live import is_running, runners_of
from tests.waiting import until

HI = [Message("user", "Hi")]
SETTINGS = RunnerSettings(threads=1, slots=2, context=512, verbose=False)


@pytest.fixture
async def runner(needs_llama: None) -> AsyncIterator[Runner]:
    runner = Runner(load_model(None), SETTINGS)
    await runner.start()
    yield runner
    await runner.stop()


async def answer(runner: Runner, options: Options, messages: list[Message] = HI, *, limit: int = 512) -> list[Event]:
    tokens = await runner.tokenize(messages)
    body = completion_body(tokens, options, limit=limit, stops=(), ceiling=None, alternatives=None)
    async with aclosing(runner.generate(body)) as events:
        return [event async for event in events]


def directory_of(process: int) -> Path:
    """Where the process has its socket, from the kernel's list."""
    inodes = {Path(entry).readlink().name for entry in Path(f"/proc/{process}/fd").iterdir() if entry.is_symlink()}
    lines = [line.split() for line in Path(f"/proc/{process}/net/unix").read_text().splitlines()[1:]]
    return next(Path(line[7]).parent for line in lines if f"socket:[{line[6]}]" in inodes and len(line) > 7)


def mine() -> list[int]:
    return runners_of(os.getpid())


async def test_it_answers_and_leaves_nothing_behind(runner: Runner):
    (process,) = mine()
    events = await answer(runner, Options(num_predict=3, temperature=0))
    assert "".join(event.text for event in events if isinstance(event, Piece)) == 'The phrase "'  # recording 29
    end = events[-1]
    assert isinstance(end, End)
    assert (end.reason, end.prompt_tokens, end.answer_tokens) == ("length", 10, 3)
    directory = directory_of(process)
    assert directory.stat().st_mode & 0o777 == 0o700
    assert runner.memory > 100_000_000
    await runner.stop()
    assert not runner.alive
    assert not is_running(process)
    assert not directory.exists()
    assert runner.memory == 0


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        (HI, 10),  # recording 29
        ([Message("martian", "Hi")], 11),  # recording 38
        ([Message("user", "Reply to the email jean@example.com in one sentence")], 23),  # recording 14
        (
            [
                Message("system", "You are a pirate."),
                Message("user", "Hi"),
                Message("assistant", "Arr!"),
                Message("user", "Where is the treasure?"),
            ],
            38,
        ),  # recording 16
    ],
)
async def test_prompts_have_the_recorded_number_of_tokens(runner: Runner, messages: list[Message], tokens: int):
    assert len(await runner.tokenize(messages)) == tokens


async def test_nothing_is_added_after_an_assistants_last_message(runner: Runner):
    plain = await runner.tokenize([Message("user", "Hi"), Message("assistant", "Arr")])
    assert plain[:8] == (await runner.tokenize(HI))[:-1][:8]
    assert plain[-3:] == (await runner.tokenize(HI))[-3:]  # a new turn of the assistant


async def test_a_runner_that_died_is_noticed_at_once_and_starts_again(runner: Runner):
    (process,) = mine()
    os.kill(process, signal.SIGKILL)
    with pytest.raises(RunnerFailed, match="unexpectedly stopped"):
        await asyncio.gather(*(runner.tokenize(HI) for _ in range(5)))
    assert not runner.alive
    await runner.start()
    assert runner.alive
    assert len(await runner.tokenize(HI)) == 10


async def test_what_llama_cpp_refuses_keeps_its_words(runner: Runner):
    with pytest.raises(Refused, match="exceed_context_size_error") as caught:
        await answer(runner, Options(), [Message("user", "word " * 600)], limit=9999)
    assert caught.value.status == 400
    assert runner.alive


async def test_a_third_call_waits_for_one_of_two_slots(runner: Runner):
    async with aclosing(await _endless(runner)) as first, aclosing(await _endless(runner)) as second:
        await anext(first)
        await anext(second)
        third = asyncio.create_task(answer(runner, Options(num_predict=2)))
        await asyncio.wait([third], timeout=0.3)
        assert not third.done()
        await first.aclose()
        assert isinstance((await asyncio.wait_for(third, 10))[-1], End)


async def _endless(runner: Runner):
    tokens = await runner.tokenize([Message("user", "Tell a long story")])
    return runner.generate(completion_body(tokens, Options(), limit=512, stops=(), ceiling=None, alternatives=None))


async def test_nothing_is_asked_of_a_runner_that_is_not_there(needs_llama: None):
    runner = Runner(load_model(None), SETTINGS)
    assert not runner.alive
    assert runner.memory == 0
    await runner.stop()
    with pytest.raises(RunnerFailed):
        await runner.tokenize(HI)


async def test_a_model_that_llama_cpp_cannot_load(needs_llama: None, tmp_path: Path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(load_model(None).path.read_bytes()[:3_000_000])
    runner = Runner(replace(load_model(None), path=broken), SETTINGS)
    with pytest.raises(EngineError, match="cannot load") as caught:
        await runner.start()
    assert caught.value.advice
    assert mine() == []


async def test_a_start_that_is_cancelled_leaves_no_process(needs_llama: None):
    runner = Runner(load_model(None), SETTINGS)
    start = asyncio.create_task(runner.start())
    await until(lambda: bool(mine()))
    start.cancel()
    await asyncio.wait([start])
    assert start.cancelled()
    assert mine() == []
    assert not runner.alive


async def test_a_directory_too_deep_for_a_socket(needs_llama: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(EngineError, match="too long") as caught:
        await Runner(load_model(None), SETTINGS).start()
    assert "TMPDIR" in caught.value.advice
    assert list(deep.iterdir()) == []
