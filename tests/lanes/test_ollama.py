import asyncio
import gzip
from contextlib import aclosing

import aiohttp
import pytest
from aiohttp import web

from appliance.cluster.connections import open_session
from appliance.dialects.chat import Event, Finish, TextDelta, Usage
from appliance.dialects.ollama.body import Prepared
from appliance.dialects.ollama.lines import Reader
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.limits import Timeouts
from appliance.lanes.ollama import OllamaLane
from tests.upstreams.ollama import OllamaDouble, Script, answers, done, line, refuses, says
from tests.waiting import until

TIMEOUTS = Timeouts(connect=2, first_byte=5, idle=5, total=10)

# Recorded from Ollama 0.32.15: the runner's own error inside the server's.
OVERFLOW = (
    '{"error":{"code":400,"message":"request (6010 tokens) exceeds the available context size (4096 tokens), try '
    'increasing it","type":"exceed_context_size_error","n_prompt_tokens":6010,"n_ctx":4096}}'
)


@pytest.fixture
async def session():
    async with open_session() as session:
        yield session


def prepared(body: bytes = b'{"body": "as it is"}') -> Prepared:
    return Prepared(body, Reader(None, lambda: "call_1"))


async def run(lane: OllamaLane, url: str, **options: float) -> list[Event]:
    return [event async for event in lane.chat(url, prepared(), **options)]


async def fails(
    session: aiohttp.ClientSession, url: str, timeouts: Timeouts = TIMEOUTS, **options: float
) -> AttemptFailed:
    with pytest.raises(AttemptFailed) as failed:
        await run(OllamaLane(session, timeouts), url, **options)
    return failed.value


async def test_an_answer_and_the_exact_bytes_that_were_sent(session: aiohttp.ClientSession, ollama: OllamaDouble):
    ollama.scripts.append(answers("Hel", "lo"))
    events = await run(OllamaLane(session, TIMEOUTS), ollama.url)
    assert events == [TextDelta("Hel"), TextDelta("lo"), Finish("stop", Usage(7, 2))]
    assert ollama.received == [b'{"body": "as it is"}']


async def test_connections_are_kept_alive(session: aiohttp.ClientSession, ollama: OllamaDouble):
    for _ in range(3):
        await run(OllamaLane(session, TIMEOUTS), ollama.url)
    assert len(ollama.connections) == 1


async def test_leaving_in_the_middle_stops_the_machine(session: aiohttp.ClientSession, ollama: OllamaDouble):
    ollama.scripts.append(says(line("Hel"), asyncio.Event()))
    async with aclosing(OllamaLane(session, TIMEOUTS).chat(ollama.url, prepared())) as events:
        assert await anext(events) == TextDelta("Hel")
    await until(lambda: ollama.left == 1, 1)


@pytest.mark.parametrize(
    ("status", "text", "code", "elsewhere"),
    [
        (404, "model 'm' not found", "local_lane_unavailable", True),
        (400, OVERFLOW, "context_length_exceeded", False),
        (400, '"m" does not support thinking', "invalid_request_error", False),
        (429, "slow down", "overloaded", True),
        (503, "server busy, please try again.  maximum pending requests exceeded", "overloaded", True),
        (500, "llama runner process has terminated", "upstream_error", True),
    ],
)
async def test_error_statuses(
    session: aiohttp.ClientSession, ollama: OllamaDouble, status: int, text: str, code: str, elsewhere: bool
):
    ollama.scripts.append(refuses(status, text))
    failed = await fails(session, ollama.url)
    assert (failed.error.code, failed.elsewhere, failed.reached) == (code, elsewhere, True)


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ('the schema in format cannot be honoured: #/a uses "not"', "response_format"),
        ("failed to parse grammar", "response_format"),
        ('"m" does not support thinking', None),
    ],
)
async def test_a_refusal_that_is_about_the_format_names_the_field_that_it_comes_from(
    session: aiohttp.ClientSession, ollama: OllamaDouble, text: str, param: str | None
):
    ollama.scripts.append(refuses(400, text))
    body = Prepared(b"{}", Reader(None, lambda: "call_1"), "response_format")
    with pytest.raises(AttemptFailed) as failed:
        [event async for event in OllamaLane(session, TIMEOUTS).chat(ollama.url, body)]
    error = failed.value.error
    assert text in error.message
    assert (error.code, error.param, bool(error.advice)) == ("invalid_request_error", param, True)


async def test_an_overflow_says_both_numbers_in_the_words_that_clients_match(
    session: aiohttp.ClientSession, ollama: OllamaDouble
):
    ollama.scripts.append(refuses(400, OVERFLOW))
    message = (await fails(session, ollama.url)).error.message
    assert "maximum context length is 4096 tokens" in message
    assert "6010 tokens" in message


@pytest.mark.parametrize(
    "script",
    [
        refuses(500, "error parsing tool call: raw='{city', err=invalid character 'c'"),
        says(b'{"error":"error parsing tool call: raw=..."}\n'),
    ],
)
async def test_a_tool_call_that_the_model_got_wrong_may_be_tried_once_more(
    session: aiohttp.ClientSession, ollama: OllamaDouble, script: Script
):
    """dialects.md §4, 18: retry once, then 502 "model produced invalid tool call"."""
    ollama.scripts.append(script)
    failed = await fails(session, ollama.url)
    assert (failed.error.code, failed.elsewhere, failed.again) == ("upstream_error", False, True)
    assert failed.error.message == "The model produced an invalid tool call."


@pytest.mark.parametrize(
    ("steps", "says_what"),
    [
        ((line("Hel"),), "ended before it was done"),
        ((), "ended before it was done"),
        ((line("Hel"), "die"), "connection broke"),
        ((line("Hel"), b'{"error":"unexpected EOF"}\n'), "unexpected EOF"),
        ((line("Hel"), b"<html>\n"), "not a JSON object"),
    ],
)
async def test_an_answer_that_breaks_off_is_a_failure(
    session: aiohttp.ClientSession, ollama: OllamaDouble, steps: tuple[bytes | str, ...], says_what: str
):
    ollama.scripts.append(says(*steps))
    failed = await fails(session, ollama.url)
    assert (failed.error.code, failed.elsewhere) == ("upstream_error", True)
    assert says_what in failed.error.message


async def test_what_comes_after_done_is_not_part_of_the_answer(session: aiohttp.ClientSession, ollama: OllamaDouble):
    ollama.scripts.append(says(line("Hel"), done(), line("lo"), done("length")))
    assert await run(OllamaLane(session, TIMEOUTS), ollama.url) == [TextDelta("Hel"), Finish("stop", Usage(7, 3))]


async def test_an_answer_without_an_end_is_given_up(
    session: aiohttp.ClientSession, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("appliance.lanes.ollama.MAX_ANSWER_BYTES", 1_000)
    ollama.scripts.append(says(*[line("on and on")] * 100))
    assert "no end" in (await fails(session, ollama.url)).error.message


async def test_a_compressed_answer_is_not_unfolded(session: aiohttp.ClientSession, ollama: OllamaDouble):
    async def bomb(_: web.Request) -> web.StreamResponse:
        packed = gzip.compress(line("x" * 1_000_000))
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    ollama.scripts.append(bomb)
    assert (await fails(session, ollama.url)).error.code == "upstream_error"
    assert ollama.headers[0]["Accept-Encoding"] == "identity"


async def test_nobody_there(session: aiohttp.ClientSession, unused_tcp_port: int):
    failed = await fails(session, f"http://127.0.0.1:{unused_tcp_port}")
    assert (failed.error.code, failed.elsewhere, failed.reached) == ("local_lane_unavailable", True, False)


async def test_a_redirect_is_not_followed(session: aiohttp.ClientSession, ollama: OllamaDouble):
    ollama.scripts.append(refuses(307, "elsewhere"))
    assert (await fails(session, ollama.url)).error.code == "upstream_error"
    assert len(ollama.received) == 1


@pytest.mark.parametrize(
    ("steps", "timeouts", "elapsed", "named", "elsewhere"),
    [
        ((5.0,), Timeouts(2, 0.05, 5, 10), 0.0, "first_byte", True),
        ((line("Hel"), 5.0, done()), Timeouts(2, 5, 0.05, 10), 0.0, "idle", True),
        ((line("Hel"), 5.0, done()), Timeouts(2, 5, 5, 10), 9.95, "total", False),
        ((5.0,), Timeouts(2, 5, 5, 0.05), 0.0, "total", False),
    ],
)
async def test_each_limit_names_itself(
    session: aiohttp.ClientSession,
    ollama: OllamaDouble,
    steps: tuple[bytes | float, ...],
    timeouts: Timeouts,
    elapsed: float,
    named: str,
    elsewhere: bool,
):
    ollama.scripts.append(says(*steps))
    failed = await fails(session, ollama.url, timeouts, elapsed=elapsed)
    assert (failed.error.code, failed.elsewhere) == ("upstream_timeout", elsewhere)
    assert f"`{named}`" in failed.error.message


async def test_the_connect_limit_names_itself(session: aiohttp.ClientSession):
    # A listener whose queue is full answers no SYN: the connect hangs, on loopback too.
    import socket

    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        failed = await fails(session, f"http://127.0.0.1:{full.getsockname()[1]}", Timeouts(0.1, 5, 5, 10))
        for filler in fillers:
            filler.close()
    assert "`connect`" in failed.error.message
    assert (failed.error.code, failed.reached) == ("local_lane_unavailable", False)


async def test_an_idle_limit_does_not_run_while_the_reader_is_slow(
    session: aiohttp.ClientSession, ollama: OllamaDouble
):
    ollama.scripts.append(says(line("a"), line("b"), done()))
    events: list[Event] = []
    async for event in OllamaLane(session, Timeouts(2, 5, 0.05, 10)).chat(ollama.url, prepared()):
        events.append(event)
        await asyncio.sleep(0.1)
    assert isinstance(events[-1], Finish)
