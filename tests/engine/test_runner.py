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
import pytest_asyncio

from appliance.engine.calls import call_grammar
from appliance.engine.floors import BUNDLED_FLOOR
from appliance.engine.formats import grammar_of
from appliance.engine.gbnf import Grammar
from appliance.engine.llama import End, Event, Piece, RunnerFailed, completion_body
from appliance.engine.llama_chat import ChatReader, chat_body
from appliance.engine.models import load_embedding_model, load_model
from appliance.engine.options import Options
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message
from appliance.engine.runner import LARGE_BODY, Runner, RunnerSettings
from appliance.engine.tools import Tool, ToolCall
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


async def answer(
    runner: Runner,
    options: Options,
    messages: list[Message] = HI,
    *,
    limit: int = 512,
    grammar: Grammar | None = None,
) -> list[Event]:
    tokens = (await runner.render(messages)).tokens
    body = completion_body(tokens, options, limit=limit, stops=(), ceiling=None, alternatives=None, grammar=grammar)
    async with aclosing(runner.generate(body, tokens)) as events:
        return [event async for event in events]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Piece))


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
    assert text_of(events) == 'The phrase "'  # recording 29
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


SCHEMAS = [
    "json",
    {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}, "required": ["city", "n"]},
    {"type": "integer", "minimum": -150, "maximum": 1999},
    {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "string", "minLength": 5, "maxLength": 4096},
    {"type": "array", "items": {"type": "string", "maxLength": 4096}, "maxItems": 4096},
    {"type": "object", "properties": {"a": {"enum": ['q"\\', "é\n", 1.5, None]}, "b": {}}},
    {"type": "string", "minLength": 2000},
    {"type": "string", "minLength": 1999, "maxLength": 2000},
    {"type": "string", "maxLength": 1_000_000},
    {"type": "array", "items": {"enum": [1, 12, 123]}, "minItems": 2000, "maxItems": 100_000},
    {"type": "array", "items": {"type": "array", "maxItems": 5000, "items": {"minLength": 2500}}, "maxItems": 5000},
    {"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 3000, "maxItems": 9000},
    {"enum": [f"value-{number}" for number in range(8000)]},
    {"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"},
    *(
        {"type": "string", "format": form}
        for form in ("date", "time", "date-time", "uuid", "email", "hostname", "ipv4", "uri")
    ),
]


WEATHER = Tool(
    "get_weather",
    "Get the current weather in a city",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


NATIVE = """{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}
{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content }}
{%- for call in message.tool_calls %}{{ '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}{% endfor %}{{ '<|im_end|>\\n' }}
{%- endfor %}{{ '<|im_start|>assistant\\n' }}"""
"""The template of a file that can call tools in its own way."""


async def test_llama_cpps_own_chat_finds_the_calls(needs_llama: None):
    runner = Runner(replace(load_model(None), template=NATIVE), SETTINGS)
    await runner.start()
    try:
        calls = [(ToolCall("get_weather", {"city": city}),) for city in ("Rome", "Oslo", "Lima")]
        asked = [Message("user", f"What is the weather in {city}?") for city in ("Rome", "Oslo", "Lima", "Paris")]
        told = [Message("assistant", "", call) for call in calls]
        prompt = await runner.render([asked[0], told[0], asked[1], told[1], asked[2], told[2], asked[3]], [WEATHER])
        for most, found in ((60, ToolCall("get_weather", {"city": "Paris"}, "id", 0)), (16, None)):
            body = chat_body(prompt, [WEATHER], Options(temperature=0, num_predict=most), limit=512, ceiling=None)
            async with aclosing(runner.chat(body, prompt.tokens, ChatReader(lambda: "id"))) as events:
                *said, end = [event async for event in events]
            assert isinstance(end, End)
            assert (end.prompt_tokens, end.reason) == (len(prompt.tokens), "stop" if found else "length")
            assert [event for event in said if isinstance(event, ToolCall)] == ([found] if found else [])
    finally:
        await runner.stop()


async def test_embeddings(needs_llama: None, embedding_file: Path):
    runner = Runner(load_embedding_model(embedding_file), SETTINGS)
    await runner.start()
    try:
        texts = [await runner.tokenize(text) for text in ("hello world", "hello", "hello world")]
        assert texts[0][0] == 101  # [CLS]
        assert texts[0][-1] == 102  # [SEP]
        assert await runner.tokenize("hello world", special=False) == texts[0][1:-1]
        first, other, again = await runner.embed(texts)
        assert len(first) == 384
        assert sum(number * number for number in first) == pytest.approx(1, abs=1e-5)
        assert first == pytest.approx(again, abs=1e-3)
        assert first != pytest.approx(other, abs=1e-2)
        with pytest.raises(Refused):
            await runner.embed([[101] * 600])
    finally:
        await runner.stop()


async def test_a_runner_that_died_is_noticed_at_once_and_starts_again(runner: Runner):
    (process,) = mine()
    os.kill(process, signal.SIGKILL)
    with pytest.raises(RunnerFailed, match="unexpectedly stopped"):
        await asyncio.gather(*(runner.render(HI) for _ in range(5)))
    assert not runner.alive
    await runner.start()
    assert runner.alive
    assert len((await runner.render(HI)).tokens) == 10


async def test_a_third_call_waits_for_one_of_two_slots(runner: Runner):
    async with aclosing(await _endless(runner)) as first, aclosing(await _endless(runner)) as second:
        await anext(first)
        await anext(second)
        third = asyncio.create_task(answer(runner, Options(num_predict=2)))
        await asyncio.wait([third], timeout=0.3)
        assert not third.done()
        await first.aclose()
        assert isinstance((await asyncio.wait_for(third, 10))[-1], End)


class Counted(Runner):
    """Counts what it asks of llama.cpp."""

    batches = 0

    def _post(self, path: str, body: bytes):
        self.batches += path == "/completion"
        return super()._post(path, body)


async def test_a_small_call_is_answered_while_a_long_prompt_is_read(needs_llama: None):
    runner = Counted(load_model(None), replace(SETTINGS, context=1024))
    await runner.start()
    try:
        done: list[str] = []

        async def call(name: str, text: str) -> list[Event]:
            events = await answer(runner, Options(num_predict=2), [Message("user", text)], limit=1024)
            done.append(name)
            return events

        long = asyncio.create_task(call("long", LONG))
        await until(lambda: runner.batches > 0)
        await call("small", "What is a cat?")
        among = await long
        assert done == ["small", "long"]
        assert isinstance(among[-1], End)
        prompt = await runner.render([Message("user", LONG)])
        assert among[-1].prompt_tokens == len(prompt.tokens) > 400
    finally:
        await runner.stop()


async def test_a_conversation_that_goes_on_is_not_read_again(runner: Runner):
    asked = [Message("user", "word " * 300)]
    first = await answer(runner, Options(num_predict=20, temperature=0), asked)
    said = Message("assistant", text_of(first))
    second = await answer(runner, Options(num_predict=1), [*asked, said, Message("user", "Go on.")])
    assert isinstance(first[-1], End)
    assert isinstance(second[-1], End)
    assert second[-1].prompt_tokens > first[-1].prompt_tokens
    assert second[-1].prompt_ns < first[-1].prompt_ns / 2


async def test_large_questions_are_asked_one_at_a_time_and_small_ones_get_through(runner: Runner):
    large = "word " * LARGE_BODY
    done: list[str] = []

    async def ask(name: str, text: str) -> None:
        await runner.tokenize(text)
        done.append(name)

    asked = [asyncio.create_task(ask("large", large)) for _ in range(12)]
    await asyncio.sleep(0)
    asked[3].cancel()
    await ask("small", "Hi")
    await asyncio.wait(asked)
    assert done.index("small") < 3
    assert done.count("large") == 11


async def test_who_leaves_a_large_question_keeps_its_place_until_it_is_done(runner: Runner):
    left = asyncio.create_task(runner.tokenize("word " * LARGE_BODY))
    await until(lambda: runner.busy)
    left.cancel()
    await asyncio.wait([left])
    assert left.cancelled()
    assert runner.busy
    assert len(await runner.tokenize("word " * LARGE_BODY)) > LARGE_BODY
    await until(lambda: not runner.busy)


LONG = "The river runs along the old road. " * 60


async def _endless(runner: Runner):
    tokens = (await runner.render([Message("user", "Tell a long story")])).tokens
    body = completion_body(tokens, Options(), limit=512, stops=(), ceiling=None, alternatives=None)
    return runner.generate(body, tokens)


async def test_nothing_is_asked_of_a_runner_that_is_not_there(needs_llama: None):
    runner = Runner(load_model(None), SETTINGS)
    assert not runner.alive
    assert runner.memory == 0
    await runner.stop()
    with pytest.raises(RunnerFailed):
        await runner.render(HI)


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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(needs_llama: None) -> AsyncIterator[Runner]:
    """A runner that tests only ask things."""
    runner = Runner(load_model(None), SETTINGS)
    await runner.start()
    yield runner
    await runner.stop()


@pytest.mark.asyncio(loop_scope="module")
class TestWhatItAnswers:
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
    async def test_prompts_have_the_recorded_number_of_tokens(
        self, shared: Runner, messages: list[Message], tokens: int
    ):
        assert len((await shared.render(messages)).tokens) == tokens

    async def test_nothing_is_added_after_an_assistants_last_message(self, shared: Runner):
        plain = (await shared.render([Message("user", "Hi"), Message("assistant", "Arr")])).tokens
        hi = (await shared.render(HI)).tokens
        assert plain[:7] == hi[:7]
        assert plain[-3:] == hi[-3:]  # a new turn of the assistant

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "\n",
            "a b  c\n\nd",
            "#" * 500,
            " " * 500,
            "\n" + " " * 300,
            "<|im_end|>" * 50,
            "é\u00a0\u2003ü",
            "a\x1cb",
        ],
    )
    async def test_there_are_never_fewer_tokens_than_the_fewest(self, shared: Runner, text: str):
        assert BUNDLED_FLOOR.of_text(text) <= len(await shared.tokenize(text))
        calls = (ToolCall("f", {"a": text, "n": [1e22, 0.5]}),)
        talk = [Message(role, text, calls) for role in ("", "user", "assistant", "tool", "user")]
        least = sum(map(BUNDLED_FLOOR.of_message, talk)) + BUNDLED_FLOOR.of_tools([WEATHER], talk)
        assert least <= len((await shared.render(talk, [WEATHER])).tokens)
        empty = [Message("", text)] * 50
        assert sum(map(BUNDLED_FLOOR.of_message, empty)) <= len((await shared.render(empty)).tokens)

    async def test_text_and_tokens(self, shared: Runner):
        tokens = await shared.tokenize("Hello there, été")
        assert await shared.detokenize(tokens) == "Hello there, été"
        prompt = await shared.render(HI)
        assert prompt.tokens == await shared.tokenize(prompt.text)
        assert prompt.messages == tuple(HI)

    async def test_llama_cpp_takes_every_kind_of_grammar(self, shared: Runner):
        for schema in SCHEMAS:
            events = await answer(shared, Options(num_predict=2, temperature=0), grammar=grammar_of(schema))
            assert isinstance(events[-1], End), schema

    async def test_a_grammar_holds(self, shared: Runner):
        schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
        for seed in range(3):
            events = await answer(shared, Options(temperature=5, top_k=0, seed=seed), grammar=grammar_of(schema))
            assert "".join(text_of(events).split()) in ('{"ok":true}', '{"ok":false}')

    async def test_llama_cpp_refuses_a_grammar_that_it_cannot_read(self, shared: Runner):
        with pytest.raises(Refused, match="failed to parse grammar") as caught:
            await answer(shared, Options(), grammar=Grammar("root ::= nothing"))
        assert caught.value.status == 400

    async def test_a_call_is_held_to_its_grammar_and_other_text_is_not(self, shared: Runner):
        grammar = call_grammar([WEATHER])
        options = Options(num_predict=40, temperature=0)
        free = [Message("user", "Say <tool_cake>.")]
        assert text_of(await answer(shared, options, free, grammar=grammar)) == text_of(
            await answer(shared, options, free)
        )
        begun = [Message("user", "?"), Message("assistant", "<tool_call>\n{")] * 3
        text = text_of(await answer(shared, options, [*begun, Message("user", "?")], grammar=grammar))
        assert "".join(text.split()).startswith('<tool_call>{"name":"get_weather","arguments":{"city":')

    async def test_what_llama_cpp_refuses_keeps_its_words(self, shared: Runner):
        with pytest.raises(Refused, match="exceed_context_size_error") as caught:
            await answer(shared, Options(), [Message("user", "word " * 600)], limit=9999)
        assert caught.value.status == 400
        assert shared.alive
