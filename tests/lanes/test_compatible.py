"""One chat on a machine that speaks like OpenAI, on real connections."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import aiohttp
import orjson
import pytest
from aiohttp import web

from appliance.cluster.connections import open_session
from appliance.dialects.chat import (
    Chat,
    Event,
    Finish,
    Format,
    Message,
    ReasoningDelta,
    Text,
    TextDelta,
    Tool,
    ToolCallDelta,
    Usage,
)
from appliance.dialects.openai.upstream import written
from appliance.errors import ContextLengthExceeded
from appliance.lanes import compatible as module
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.compatible import CompatibleLane
from appliance.lanes.limits import Timeouts
from tests.upstreams import compatible, openai
from tests.upstreams.compatible import CompatibleDouble, Engine, compatible_double
from tests.upstreams.openai import Script, Step
from tests.waiting import until

TIMEOUTS = Timeouts(connect=2, first_byte=5, idle=5, total=10)
KEY = "sk-local-secret"
CHAT = Chat((Message("user", (Text("Hi"),)),))
LOOK = Tool("look", parameters={"type": "object", "properties": {"at": {"type": "string"}}})


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as session:
        yield session


@pytest.fixture
async def vllm() -> AsyncIterator[CompatibleDouble]:
    async with compatible_double("vllm", key=KEY) as double:
        yield double


class Box:
    """A lane and the machine that it sends to."""

    def __init__(self, session: aiohttp.ClientSession, url: str, timeouts: Timeouts = TIMEOUTS, key: str = KEY) -> None:
        self.lane = CompatibleLane(session, timeouts)
        self.url = url
        self.key = key

    def chat(self, chat: Chat = CHAT, *, first: int = 0, elapsed: float = 0.0):
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        outgoing = written(chat, model="org/model", new_id=lambda: "call_ours", compatible=True, first=first)
        return self.lane.chat(self.url, headers, outgoing, elapsed=elapsed)

    async def run(self, chat: Chat = CHAT, **options: float) -> list[Event]:
        return [event async for event in self.chat(chat, **options)]  # type: ignore[arg-type]  the test's own options

    async def fails(self, **options: float) -> AttemptFailed:
        with pytest.raises(AttemptFailed) as failed:
            await self.run(**options)
        error = failed.value.error
        assert error.message
        assert error.advice
        assert self.key not in f"{error} {failed.value!r}"
        assert "provider" not in str(error)
        return failed.value


@pytest.fixture
def box(session: aiohttp.ClientSession, vllm: CompatibleDouble) -> Box:
    return Box(session, vllm.url)


async def test_an_answer_and_what_was_sent(box: Box, vllm: CompatibleDouble):
    assert await box.run() == [TextDelta("Hello"), TextDelta(" there"), TextDelta("."), Finish("stop", Usage(7, 3))]
    (got,) = vllm.received
    assert (got.method, got.path) == ("POST", "/v1/chat/completions")
    assert (got.header("Authorization"), got.header("Accept-Encoding")) == (f"Bearer {KEY}", "identity")
    assert orjson.loads(got.body) == {
        "model": "org/model",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_a_machine_without_a_key(session: aiohttp.ClientSession):
    async with compatible_double("llama.cpp", default=compatible.llama_answers("Hel", "lo")) as double:
        events = await Box(session, double.url + "/", key="").run()
        assert double.received[0].header("Authorization") is None
        assert double.received[0].path == "/v1/chat/completions"
    assert events == [TextDelta("Hel"), TextDelta("lo"), Finish("stop", Usage(7, 2))]


async def test_the_answer_has_the_number_that_it_has_in_its_call(box: Box, vllm: CompatibleDouble):
    vllm.scripts.append(openai.says(openai.text("a"), openai.finish(), openai.usage(7, 1)))
    assert await box.run(first=2) == [TextDelta("a", choice=2), Finish("stop", Usage(7, 1), 2)]


async def test_each_call_has_a_connection_of_its_own(box: Box, vllm: CompatibleDouble):
    """llama.cpp's server closes one behind each stream without a word, so that the next call on it would be lost."""
    peers: list[object] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        script = openai.answers("a") if len(peers) != 2 else openai.refuses(400, openai.error("no"))
        return await script(request)

    vllm.default = answer
    await box.run()
    await box.fails()
    await box.run()
    assert len(set(peers)) == 3
    assert {one.header("Connection") for one in vllm.received} == {"close"}


@pytest.mark.parametrize("shape", openai.call_shapes("look", "{}"))
async def test_a_tool_call_in_every_shape(box: Box, vllm: CompatibleDouble, shape: str):
    vllm.scripts.append(openai.call_shapes("look", '{"at":"it","n":{"x":1}}')[shape])
    assert await box.run(replace(CHAT, tools=(LOOK,))) == [
        ToolCallDelta(0, "call_ours", "look", '{"at":"it","n":{"x":1}}'),
        Finish("tool_calls", Usage(7, 3)),
    ]
    assert orjson.loads(vllm.bodies[0])["tools"][0]["function"]["name"] == "look"


async def test_a_structured_answer_is_asked_for_by_its_schema(box: Box, vllm: CompatibleDouble):
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    vllm.scripts.append(openai.answers('{"city":', '"Paris"}'))
    events = await box.run(replace(CHAT, format=Format(schema)))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == '{"city":"Paris"}'
    assert orjson.loads(vllm.bodies[0])["response_format"]["json_schema"]["schema"] == schema


async def test_what_the_model_thinks_is_apart_from_its_answer(box: Box, vllm: CompatibleDouble):
    thought = openai.chunk({"reasoning_content": "Hm."})
    vllm.scripts.append(openai.says(thought, openai.text("Yes."), openai.finish(), openai.usage(7, 2)))
    assert await box.run() == [ReasoningDelta("Hm."), TextDelta("Yes."), Finish("stop", Usage(7, 2))]


async def test_any_framing_of_the_stream_is_the_same_answer(box: Box, vllm: CompatibleDouble):
    stream = openai.text("Grüße 😀") + b": ping\r\n\r\n" + openai.finish() + openai.usage() + openai.DONE
    vllm.scripts.append(openai.says(*[stream[i : i + 1] for i in range(len(stream))]))
    assert await box.run() == [TextDelta("Grüße 😀"), Finish("stop", Usage(7, 3))]


async def test_counts_that_do_not_come_are_not_waited_for(
    box: Box, vllm: CompatibleDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "COUNTS_SECONDS", 0.05)
    vllm.scripts.append(openai.says(openai.text("Hi"), openai.finish(), asyncio.Event()))
    assert await box.run() == [TextDelta("Hi"), Finish("stop", Usage(0, 1))]
    await until(lambda: vllm.left == 1, 1)


async def test_leaving_in_the_middle_stops_the_machine(box: Box, vllm: CompatibleDouble):
    vllm.scripts.append(openai.says(openai.text("Hel"), asyncio.Event()))
    async with aclosing(box.chat()) as events:
        assert await anext(events) == TextDelta("Hel")
    await until(lambda: vllm.left == 1, 1)


async def test_leaving_before_the_first_word_stops_the_machine(box: Box, vllm: CompatibleDouble):
    vllm.scripts.append(openai.says(asyncio.Event()))
    waiting = asyncio.create_task(box.run())
    await until(lambda: vllm.active == 1)
    waiting.cancel()
    await until(lambda: vllm.left == 1, 1)


@pytest.mark.parametrize(
    ("script", "code", "elsewhere"),
    [
        pytest.param(compatible.model_missing("org/model"), "local_lane_unavailable", True, id="model"),
        pytest.param(openai.refuses(404, {"detail": "Not Found"}), "upstream_error", True, id="address"),
        pytest.param(openai.refuses(400, openai.error("no", param="n")), "invalid_request_error", False, id="400"),
        pytest.param(openai.refuses(422, b""), "invalid_request_error", False, id="422"),
        pytest.param(openai.refuses(413, b""), "request_too_large", False, id="413"),
        pytest.param(compatible.busy(), "overloaded", True, id="loading"),
        pytest.param(openai.busy("1"), "overloaded", True, id="429"),
        pytest.param(openai.refuses(500, openai.error("sorry")), "upstream_error", True, id="500"),
        pytest.param(openai.refuses(502, b"<html>bad gateway"), "upstream_error", True, id="502"),
        pytest.param(openai.refuses(504, b""), "upstream_error", True, id="504"),
        pytest.param(openai.refuses(307, b"", Location="http://127.0.0.1:1/"), "upstream_error", True, id="redirect"),
    ],
)
async def test_a_refusal_is_not_tried_again_here(
    box: Box, vllm: CompatibleDouble, script: Script, code: str, elsewhere: bool
):
    """The scheduler has other machines, where a second try on this one would keep the caller waiting."""
    vllm.scripts.append(script)
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere, failed.reached, failed.again) == (code, elsewhere, True, False)
    assert (len(vllm.received), vllm.asked) == (1, [])


@pytest.mark.parametrize("whose", compatible.overflows(1, 2))
async def test_a_prompt_that_is_too_long(box: Box, vllm: CompatibleDouble, whose: str):
    vllm.scripts.append(compatible.overflows(4096, 6010)[whose])
    failed = await box.fails()
    error = failed.error
    assert isinstance(error, ContextLengthExceeded)
    assert (error.tokens, error.maximum, failed.elsewhere) == (6010, 4096, False)
    assert "maximum context length is 4096 tokens" in error.message


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp", "ray"])
async def test_a_wrong_key_is_the_machine_s_fault_and_not_the_caller_s(session: aiohttp.ClientSession, engine: Engine):
    async with compatible_double(engine, key=KEY) as double:
        failed = await Box(session, double.url, key="sk-wrong-and-long").fails()
    assert (failed.error.code, failed.elsewhere) == ("upstream_error", True)
    assert "refuses the key" in failed.error.message
    assert "synapse node list" in failed.error.advice


async def test_a_machine_that_quotes_our_key_is_not_quoted(box: Box, vllm: CompatibleDouble):
    vllm.scripts.append(openai.refuses(400, openai.error(f"Bad header Authorization: Bearer {KEY}")))
    assert "[key]" in (await box.fails()).error.message


@pytest.mark.parametrize(
    ("steps", "says_what"),
    [
        pytest.param((openai.text("Hel"),), "ended before it was done", id="ends without a terminal"),
        pytest.param((), "ended before it was done", id="ends without a word"),
        pytest.param((openai.text("Hel"), openai.DONE), "before its answer was done", id="done without a reason"),
        pytest.param((openai.text("Hel"), "die"), "connection broke", id="dies in mid-stream"),
        pytest.param((openai.text("Hel"), b"data: {not json\n\n"), "not a JSON object", id="malformed JSON"),
        pytest.param(
            (openai.text("Hel"), openai.data(compatible.error("the engine died", "InternalServerError", 500))),
            "the engine died",
            id="error event",
        ),
    ],
)
async def test_an_answer_that_breaks_off_is_a_failure(
    box: Box, vllm: CompatibleDouble, steps: tuple[Step, ...], says_what: str
):
    vllm.scripts.append(openai.says(*steps))
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere) == ("upstream_error", True)
    assert says_what in failed.error.message
    assert len(vllm.received) == 1


async def test_a_connection_that_breaks_before_a_word_has_reached_it(box: Box, vllm: CompatibleDouble):
    vllm.scripts.append(openai.dies())
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere, failed.reached) == ("upstream_error", True, True)
    assert len(vllm.received) == 1


async def test_an_answer_without_an_end_is_given_up(box: Box, vllm: CompatibleDouble, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 1_000)
    vllm.scripts.append(openai.says(*[openai.text("on and on")] * 100))
    assert "no end" in (await box.fails()).error.message


async def test_a_compressed_answer_is_not_unfolded(box: Box, vllm: CompatibleDouble):
    async def bomb(_: web.Request) -> web.StreamResponse:
        packed = gzip.compress(openai.text("x" * 1_000_000))
        return web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "text/event-stream"})

    vllm.scripts.append(bomb)
    assert "compressed" in (await box.fails()).error.message


async def test_a_page_is_no_stream_of_events(box: Box, vllm: CompatibleDouble):
    vllm.scripts.append(openai.says(b"<html>Sign in</html>", content_type="text/html"))
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere) == ("upstream_error", True)
    assert "stream of events" in failed.error.message


async def test_an_error_whose_body_stalls_is_known_by_its_status(
    box: Box, vllm: CompatibleDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "ERROR_SECONDS", 0.05)
    vllm.scripts.append(openai.says(b'{"error"', asyncio.Event(), status=503, content_type="application/json"))
    assert (await box.fails()).error.code == "overloaded"


async def test_nobody_there(session: aiohttp.ClientSession, unused_tcp_port: int):
    failed = await Box(session, f"http://127.0.0.1:{unused_tcp_port}/v1").fails()
    assert (failed.error.code, failed.elsewhere, failed.reached) == ("local_lane_unavailable", True, False)
    assert "accepts no connections" in failed.error.message


async def test_tls_that_fails_is_named_as_such(session: aiohttp.ClientSession, vllm: CompatibleDouble):
    failed = await Box(session, vllm.url.replace("http:", "https:")).fails()
    assert (failed.error.code, failed.reached) == ("local_lane_unavailable", False)
    assert "secure connection" in failed.error.message


async def test_a_name_that_leads_out_of_the_network_gets_no_prompt(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
):
    async def resolve(_: object, host: str, port: int = 0, family: int = 0) -> list[dict[str, object]]:
        return [{"hostname": host, "host": "8.8.8.8", "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}]

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", resolve)
    failed = await Box(session, "http://vllm.office.lan/v1").fails()
    assert (failed.error.code, failed.elsewhere, failed.reached) == ("local_lane_unavailable", True, False)


@pytest.mark.parametrize(
    ("steps", "timeouts", "elapsed", "named", "elsewhere"),
    [
        ((5.0,), Timeouts(2, 0.05, 5, 10), 0.0, "first_byte", True),
        ((openai.text("Hel"), 5.0, openai.finish()), Timeouts(2, 5, 0.05, 10), 0.0, "idle", True),
        ((openai.text("Hel"), 5.0, openai.finish()), Timeouts(2, 5, 5, 10), 9.95, "total", False),
        ((5.0,), Timeouts(2, 5, 5, 0.05), 0.0, "total", False),
    ],
)
async def test_each_limit_names_itself(
    session: aiohttp.ClientSession,
    vllm: CompatibleDouble,
    steps: tuple[Step, ...],
    timeouts: Timeouts,
    elapsed: float,
    named: str,
    elsewhere: bool,
):
    vllm.scripts.append(openai.says(*steps))
    failed = await Box(session, vllm.url, timeouts).fails(elapsed=elapsed)
    assert (failed.error.code, failed.elsewhere) == ("upstream_timeout", elsewhere)
    assert f"`{named}`" in failed.error.message


async def test_the_first_byte_limit_runs_before_the_head_too(session: aiohttp.ClientSession, vllm: CompatibleDouble):
    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    vllm.scripts.append(silent)
    failed = await Box(session, vllm.url, Timeouts(2, 0.05, 5, 10)).fails()
    assert "`first_byte`" in failed.error.message
    await until(lambda: vllm.left == 1, 1)


async def test_the_connect_limit_names_itself(session: aiohttp.ClientSession):
    # A listener whose queue is full answers no SYN: the connect hangs, on loopback too.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        failed = await Box(session, f"http://127.0.0.1:{full.getsockname()[1]}/v1", Timeouts(0.1, 5, 5, 10)).fails()
        for filler in fillers:
            filler.close()
    assert "`connect`" in failed.error.message
    assert (failed.error.code, failed.elsewhere, failed.reached) == ("local_lane_unavailable", True, False)


async def test_an_idle_limit_does_not_run_while_the_reader_is_slow(
    session: aiohttp.ClientSession, vllm: CompatibleDouble
):
    vllm.scripts.append(openai.answers("a", "b"))
    events: list[Event] = []
    async for event in Box(session, vllm.url, Timeouts(2, 5, 0.05, 10)).chat():
        events.append(event)
        await asyncio.sleep(0.1)
    assert isinstance(events[-1], Finish)
