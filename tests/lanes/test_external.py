"""The fault list of an external provider at the lane, on real connections.

Sources: gateway.md ("Errors", "Streaming", "Limits"), routing.md ("Choice", 5).
"""

import asyncio
import gzip
import socket
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from appliance.dialects.chat import Chat, Event, Finish, Message, Sampling, Text, TextDelta, ToolCallDelta, Usage
from appliance.dialects.mistral import upstream as mistral
from appliance.dialects.openai import upstream
from appliance.dialects.openai.refusals import refusal
from appliance.dialects.openai.stream import Reader
from appliance.dialects.upstream import Outgoing
from appliance.errors import Overloaded
from appliance.lanes import external as module
from appliance.lanes import retries
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.endpoint import Endpoint
from appliance.lanes.external import ExternalLane
from appliance.lanes.external_connections import open_session
from appliance.lanes.limits import Timeouts
from tests.upstreams import openai as wire
from tests.upstreams.openai import OpenAIDouble, Script, openai_double
from tests.waiting import until

TIMEOUTS = Timeouts(connect=2, first_byte=5, idle=5, total=10)
KEY = "sk-proj-secret"
NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
HELLO = [TextDelta("Hello"), TextDelta(" there"), TextDelta("."), Finish("stop", Usage(7, 3))]


@pytest.fixture
async def session():
    async with open_session() as session:
        yield session


@pytest.fixture
async def openai():
    async with openai_double(key=KEY) as double:
        yield double


class Slept:
    """The pauses that were asked for; none is waited for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class Box:
    """A lane, where it sends to, and what it did."""

    def __init__(self, session: aiohttp.ClientSession, url: str, timeouts: Timeouts = TIMEOUTS) -> None:
        self.slept = Slept()
        self.sent = 0
        self.endpoint = Endpoint("openai", url, "Authorization", f"Bearer {KEY}")
        self.lane = ExternalLane(session, timeouts, sleep=self.slept, clock=lambda: NOW)

    def chat(self, *, choices: int = 1, **options: Any):
        def reader() -> Reader:
            return Reader(lambda: "call_ours", choices=choices)

        outgoing = Outgoing("/chat/completions", {"X-Own": "header"}, b'{"body": "as it is"}', reader, refusal)
        return self.lane.chat(self.endpoint, outgoing, sending=self._sending, **options)

    async def run(self, **options: Any) -> list[Event]:
        return [event async for event in self.chat(**options)]

    async def fails(self, **options: Any) -> AttemptFailed:
        with pytest.raises(AttemptFailed) as failed:
            await self.run(**options)
        error = failed.value.error
        assert error.message
        assert error.advice
        assert KEY not in f"{error} {failed.value!r} {failed.value.__cause__!r} {failed.value.__context__!r}"
        return failed.value

    def _sending(self) -> None:
        self.sent += 1


@pytest.fixture
def box(session: aiohttp.ClientSession, openai: OpenAIDouble) -> Box:
    return Box(session, openai.url)


async def test_an_answer_and_the_exact_bytes_that_were_sent(box: Box, openai: OpenAIDouble):
    assert await box.run() == HELLO
    (got,) = openai.received
    assert (got.method, got.path, got.body) == ("POST", "/v1/chat/completions", b'{"body": "as it is"}')
    wanted = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "X-Own": "header"}
    assert {name: got.header(name) for name in wanted} == wanted
    assert (got.header("Accept"), got.header("Accept-Encoding")) == ("text/event-stream", "identity")
    assert (got.header("Cookie"), got.header("User-Agent")) == (None, "synapse")
    assert box.sent == 1


async def test_a_base_url_that_ends_with_a_slash_is_the_same(session: aiohttp.ClientSession, openai: OpenAIDouble):
    await Box(session, openai.url + "/").run()
    assert openai.received[0].path == "/v1/chat/completions"


async def test_connections_are_kept_alive(box: Box, openai: OpenAIDouble):
    for _ in range(3):
        await box.run()
    assert len(openai.connections) == 1


async def test_an_error_leaves_its_connection_usable(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.wrong_key())
    await box.fails()
    await box.run()
    assert len(openai.connections) == 1


async def test_a_tool_call(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.calls("look", '{"at": "it"}'))
    assert await box.run() == [
        ToolCallDelta(0, "call_ours", "look", '{"at": "it"}'),
        Finish("tool_calls", Usage(7, 3)),
    ]


@pytest.mark.parametrize("shape", wire.call_shapes("look", "{}"))
async def test_a_tool_call_in_every_shape(box: Box, openai: OpenAIDouble, shape: str):
    openai.scripts.append(wire.call_shapes("look", '{"at":"it","n":{"x":1}}')[shape])
    assert await box.run() == [
        ToolCallDelta(0, "call_ours", "look", '{"at":"it","n":{"x":1}}'),
        Finish("tool_calls", Usage(7, 3)),
    ]


async def test_mistral_takes_what_is_written_for_it_and_refuses_the_body_of_openai_s_dialect(
    session: aiohttp.ClientSession,
):
    chat = Chat((Message("user", (Text("Hi"),)),), Sampling(seed=1, max_tokens=5))
    async with openai_double(known=wire.MISTRAL_MEMBERS, default=wire.mistral_answers("Hello")) as double:
        box = Box(session, double.url)
        taken = mistral.written(chat, model="mistral-small-latest", new_id=lambda: "c")
        refused = upstream.written(chat, model="mistral-small-latest", new_id=lambda: "c")
        events = [event async for event in box.lane.chat(box.endpoint, taken)]
        with pytest.raises(AttemptFailed, match="stream_options: Extra inputs") as failed:
            await anext(box.lane.chat(box.endpoint, refused))
    assert events == [TextDelta("Hello"), Finish("stop", Usage(7, 1))]
    assert failed.value.error.code == "invalid_request_error"


async def test_any_framing_of_the_stream_is_the_same_answer(box: Box, openai: OpenAIDouble):
    stream = wire.text("Grüße 😀") + b": comment\r\n\r\n" + wire.finish() + wire.usage() + wire.DONE
    openai.scripts.append(wire.says(*[stream[i : i + 1] for i in range(len(stream))]))
    assert await box.run() == [TextDelta("Grüße 😀"), Finish("stop", Usage(7, 3))]


async def test_leaving_in_the_middle_closes_the_connection(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.says(wire.text("Hel"), asyncio.Event()))
    async with aclosing(box.chat()) as events:
        assert await anext(events) == TextDelta("Hel")
    await until(lambda: openai.left == 1, 1)


async def test_leaving_before_the_first_word_closes_the_connection(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.says(asyncio.Event()))
    waiting = asyncio.create_task(box.run())
    await until(lambda: openai.active == 1)
    waiting.cancel()
    await until(lambda: openai.left == 1, 1)


async def test_leaving_during_a_pause_sends_nothing_more(session: aiohttp.ClientSession, openai: OpenAIDouble):
    openai.scripts.append(wire.busy("1"))
    box = Box(session, openai.url)
    pausing = asyncio.Event()

    async def sleep(_: float) -> None:
        pausing.set()
        await asyncio.Event().wait()

    box.lane = ExternalLane(session, TIMEOUTS, sleep=sleep)
    waiting = asyncio.create_task(box.run())
    await until(pausing.is_set)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(openai.received) == 1


# What the provider refuses. Status, what the caller gets, whether the next provider may answer, how often it was asked.
@pytest.mark.parametrize(
    ("script", "code", "elsewhere", "asked"),
    [
        pytest.param(wire.wrong_key(KEY), "upstream_error", False, 1, id="wrong key"),
        pytest.param(wire.refuses(403, wire.error("no")), "upstream_error", False, 1, id="forbidden"),
        pytest.param(wire.model_missing(), "upstream_error", False, 1, id="unknown model"),
        pytest.param(wire.refuses(404, b"<html>"), "upstream_error", False, 1, id="wrong address"),
        pytest.param(wire.too_long(), "context_length_exceeded", False, 1, id="too long"),
        pytest.param(wire.refuses(400, wire.error("no", param="n")), "invalid_request_error", False, 1, id="400"),
        pytest.param(wire.refuses(413, b""), "request_too_large", False, 1, id="413"),
        pytest.param(wire.refuses(418, b""), "upstream_error", False, 1, id="418"),
        pytest.param(wire.busy(), "overloaded", True, 3, id="429"),
        pytest.param(wire.refuses(500, wire.error("sorry")), "upstream_error", True, 3, id="500"),
        pytest.param(wire.refuses(502, b"<html>bad gateway"), "upstream_error", True, 3, id="502"),
        pytest.param(wire.refuses(503, b""), "overloaded", True, 3, id="503"),
        pytest.param(wire.refuses(529, wire.error("Overloaded")), "overloaded", True, 3, id="529"),
        pytest.param(wire.refuses(504, b""), "upstream_timeout", True, 1, id="504"),
        pytest.param(wire.refuses(429, wire.error("no", code="insufficient_quota")), "upstream_error", True, 1,
                     id="no credit left"),
    ],
)  # fmt: skip
async def test_a_refusal(box: Box, openai: OpenAIDouble, script: Script, code: str, elsewhere: bool, asked: int):
    openai.default = script
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere, failed.reached) == (code, elsewhere, True)
    assert (len(openai.received), box.sent) == (asked, asked)


async def test_a_wrong_key_is_told_from_a_missing_model_and_says_what_to_do(box: Box, openai: OpenAIDouble):
    openai.scripts.extend([wire.wrong_key(KEY), wire.model_missing("gpt-none")])
    key, model = [(await box.fails()).error for _ in range(2)]
    assert "key" in key.message
    assert "synapse provider test openai" in key.advice
    assert "gpt-none" in model.message
    assert "synapse provider add" in model.advice


async def test_a_provider_that_quotes_our_key_is_not_quoted(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.refuses(400, wire.error(f"Bad header Authorization: Bearer {KEY}")))
    assert "[key]" in (await box.fails()).error.message


async def test_the_request_s_own_fault_names_its_field(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.refuses(400, wire.error("Invalid value for 'n'.", param="n")))
    error = (await box.fails()).error
    assert error.param == "n"
    assert "Invalid value for 'n'." in error.message


@pytest.mark.parametrize("script", [wire.busy(), wire.refuses(500, b""), wire.refuses(529, b""), wire.dies()])
async def test_a_fault_that_passes_is_not_seen_by_the_caller(box: Box, openai: OpenAIDouble, script: Script):
    openai.scripts.append(script)
    assert await box.run() == HELLO
    assert (box.sent, box.slept.seconds) == (2, [0.5])
    assert openai.bodies == [b'{"body": "as it is"}'] * 2


@pytest.mark.parametrize(
    ("asked", "pauses", "retry_after"),
    [
        ("3", [3.0, 3.0], 3.0),
        ("0", [0.0, 0.0], 0.0),
        ("Mon, 30 Nov 2026 02:00:02 GMT", [2.0, 2.0], 2.0),
        ("Mon, 30 Nov 2026 01:00:00 GMT", [0.0, 0.0], 0.0),
        ("11", [], 11.0),
        ("86400", [], 86400.0),
        ("soon", [0.5, 1.5], None),
        (None, [0.5, 1.5], None),
    ],
)
async def test_retry_after_is_honoured_if_it_is_short_and_handed_on_in_any_case(
    session: aiohttp.ClientSession,
    openai: OpenAIDouble,
    asked: str | None,
    pauses: list[float],
    retry_after: float | None,
):
    openai.default = wire.busy(asked)
    box = Box(session, openai.url, Timeouts(2, 20, 5, 20))
    error = (await box.fails()).error
    assert box.slept.seconds == pauses
    assert isinstance(error, Overloaded)
    assert error.retry_after == retry_after


async def test_no_pause_is_longer_than_what_is_left_of_the_call(box: Box, openai: OpenAIDouble):
    openai.default = wire.busy("4")
    await box.fails(elapsed=7)
    assert (box.slept.seconds, len(openai.received)) == ([], 1)


async def test_nothing_is_tried_again_after_the_first_word(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.says(wire.text("Hel"), "die"))
    await box.fails()
    assert (len(openai.received), box.slept.seconds) == (1, [])


@pytest.mark.parametrize(
    ("steps", "says_what"),
    [
        pytest.param((wire.text("Hel"),), "ended before it was done", id="ends without a terminal"),
        pytest.param((), "ended before it was done", id="ends without a word"),
        pytest.param((wire.text("Hel"), wire.DONE), "before its answer was done", id="done without a reason"),
        pytest.param((wire.text("Hel"), "die"), "connection broke", id="dies in mid-stream"),
        pytest.param((wire.text("Hel"), wire.finish()[:-2]), "ended before it was done", id="ends within its end"),
        pytest.param((wire.text("Hel"), b"data: {not json\n\n"), "not a JSON object", id="malformed JSON"),
        pytest.param(
            (wire.text("Hel"), wire.data(wire.error("the engine died", kind="server_error"))),
            "the engine died",
            id="error event",
        ),
    ],
)
async def test_an_answer_that_breaks_off_is_a_failure(
    box: Box, openai: OpenAIDouble, steps: tuple[bytes | str, ...], says_what: str
):
    openai.scripts.append(wire.says(*steps))
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere) == ("upstream_error", True)
    assert says_what in failed.error.message


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        pytest.param((wire.finish(), wire.usage(), wire.DONE), Usage(7, 3), id="as OpenAI does"),
        pytest.param((wire.finish(usage=wire.counts()), wire.DONE), Usage(7, 3), id="as Mistral does"),
        pytest.param((wire.finish(), wire.usage()), Usage(7, 3), id="no [DONE]"),
        pytest.param((wire.finish(usage=None), wire.DONE), Usage(0, 1), id="no usage"),
        pytest.param((wire.finish(),), Usage(0, 1), id="neither"),
        pytest.param((wire.finish(), b"data: [DONE]\n"), Usage(0, 1), id="no blank line at the end"),
        pytest.param((wire.finish(), "die"), Usage(0, 1), id="dies behind the reason"),
    ],
)
async def test_a_reason_is_an_end_whatever_is_missing_after_it(
    box: Box, openai: OpenAIDouble, steps: tuple[bytes | str, ...], wanted: Usage
):
    openai.scripts.append(wire.says(wire.text("Hi"), *steps))
    assert await box.run() == [TextDelta("Hi"), Finish("stop", wanted)]


async def test_counts_that_do_not_come_are_not_waited_for(
    box: Box, openai: OpenAIDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "COUNTS_SECONDS", 0.05)
    openai.scripts.append(wire.says(wire.text("Hi"), wire.finish(), asyncio.Event()))
    assert await box.run() == [TextDelta("Hi"), Finish("stop", Usage(0, 1))]
    await until(lambda: openai.left == 1, 1)


async def test_what_comes_after_the_end_is_not_part_of_the_answer(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.says(wire.finish(), wire.usage(), wire.text("more"), wire.DONE))
    assert await box.run() == [Finish("stop", Usage(7, 3))]


BUSY = wire.data(wire.error("Too much to do", kind="rate_limit_error", code="rate_limit_exceeded"))


async def test_one_that_says_in_its_stream_that_it_is_busy_is_asked_again(box: Box, openai: OpenAIDouble):
    # As where it says so by its status. What was read of the first stream plays no part in the second.
    openai.scripts.append(wire.says(wire.chunk({"role": "assistant"}), BUSY))
    openai.scripts.append(wire.says(BUSY))
    assert await box.run() == HELLO
    assert (box.sent, box.slept.seconds) == (3, list(retries.PAUSES))


async def test_one_that_stays_busy_is_asked_three_times(box: Box, openai: OpenAIDouble):
    openai.default = wire.says(BUSY)
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere, box.sent) == ("overloaded", True, 3)


async def test_the_tries_of_both_kinds_are_counted_together(box: Box, openai: OpenAIDouble):
    openai.scripts.extend([wire.busy(), wire.says(BUSY), wire.refuses(529, wire.error("Overloaded"))])
    assert (await box.fails()).error.code == "overloaded"
    assert box.sent == 3


async def test_one_that_is_busy_in_the_middle_is_not_asked_again(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.says(wire.text("Hel"), BUSY))
    assert (await box.fails()).error.code == "overloaded"
    assert box.sent == 1


async def test_an_answer_without_an_end_is_given_up(box: Box, openai: OpenAIDouble, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 1_000)
    openai.scripts.append(wire.says(*[wire.text("on and on")] * 100))
    assert "no end" in (await box.fails()).error.message


async def test_an_event_without_an_end_is_given_up(box: Box, openai: OpenAIDouble, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.lanes.sse.MAX_EVENT_CHARACTERS", 1_000)
    openai.scripts.append(wire.says(b"data: ", b"x" * 2_000))
    assert "event without an end" in (await box.fails()).error.message


async def test_a_compressed_answer_is_not_unfolded(box: Box, openai: OpenAIDouble):
    async def bomb(_: web.Request) -> web.StreamResponse:
        packed = gzip.compress(wire.text("x" * 1_000_000))
        return web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "text/event-stream"})

    openai.scripts.append(bomb)
    assert "compressed" in (await box.fails()).error.message


async def test_a_page_is_no_stream_of_events(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.says(b"<html>Sign in</html>", content_type="text/html"))
    error = (await box.fails()).error
    assert "text/html instead of a stream of events" in error.message
    assert "base URL" in error.advice


async def test_a_redirect_is_not_followed(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.refuses(307, b"", Location=openai.url + "/elsewhere?token=x"))
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere) == ("upstream_error", False)
    assert "redirect to 127.0.0.1" in failed.error.message
    assert "base URL" in failed.error.advice
    assert (len(openai.received), openai.asked) == (1, [])


async def test_a_cookie_is_not_sent_back(box: Box, openai: OpenAIDouble):
    openai.scripts.append(wire.refuses(401, b"", Set_Cookie="a=b"))
    await box.fails()
    await box.run()
    assert openai.received[1].header("Cookie") is None


async def test_a_provider_that_is_down_is_asked_thrice(session: aiohttp.ClientSession, unused_tcp_port: int):
    box = Box(session, f"http://127.0.0.1:{unused_tcp_port}/v1")
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere, failed.reached) == ("upstream_error", True, False)
    assert "accepts no connections" in failed.error.message
    assert (box.sent, box.slept.seconds) == (3, [0.5, 1.5])


async def test_a_host_name_that_is_not_found_is_named_as_such(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
):
    async def resolve(*_: object, **__: object) -> None:
        raise OSError(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", resolve)
    box = Box(session, "http://provider.invalid/v1")
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere, failed.reached, box.sent) == ("upstream_error", True, False, 1)
    assert "host name" in failed.error.message


async def test_tls_that_fails_is_named_as_such(session: aiohttp.ClientSession, openai: OpenAIDouble):
    box = Box(session, openai.url.replace("http:", "https:"))
    failed = await box.fails()
    assert (failed.error.code, failed.elsewhere, failed.reached, box.sent) == ("upstream_error", True, False, 1)
    assert "secure connection" in failed.error.message


async def test_what_does_not_speak_http_is_a_failure(session: aiohttp.ClientSession):
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        failed = await Box(session, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1").fails()
    assert (failed.error.code, failed.elsewhere) == ("upstream_error", True)


async def test_a_connection_that_broke_has_reached_it_though_the_next_try_did_not(box: Box, openai: OpenAIDouble):
    async def dies_for_good(request: web.Request) -> web.StreamResponse:
        task = asyncio.ensure_future(openai.stop())
        task.add_done_callback(lambda _: None)
        return await wire.dies()(request)

    openai.scripts.append(dies_for_good)
    failed = await box.fails()
    assert (failed.reached, box.sent) == (True, 3)


@pytest.mark.parametrize(
    ("steps", "timeouts", "elapsed", "named", "elsewhere"),
    [
        ((5.0,), Timeouts(2, 0.05, 5, 10), 0.0, "first_byte", True),
        ((wire.text("Hel"), 5.0, wire.finish()), Timeouts(2, 5, 0.05, 10), 0.0, "idle", True),
        ((wire.text("Hel"), 5.0, wire.finish()), Timeouts(2, 5, 5, 10), 9.95, "total", False),
        ((5.0,), Timeouts(2, 5, 5, 0.05), 0.0, "total", False),
    ],
)
async def test_each_limit_names_itself(
    session: aiohttp.ClientSession,
    openai: OpenAIDouble,
    steps: tuple[bytes | float, ...],
    timeouts: Timeouts,
    elapsed: float,
    named: str,
    elsewhere: bool,
):
    openai.scripts.append(wire.says(*steps))
    failed = await Box(session, openai.url, timeouts).fails(elapsed=elapsed)
    assert (failed.error.code, failed.elsewhere) == ("upstream_timeout", elsewhere)
    assert f"`{named}`" in failed.error.message
    assert len(openai.received) == 1


async def test_the_first_byte_limit_runs_before_the_headers_too(session: aiohttp.ClientSession, openai: OpenAIDouble):
    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    openai.scripts.append(silent)
    failed = await Box(session, openai.url, Timeouts(2, 0.05, 5, 10)).fails()
    assert "`first_byte`" in failed.error.message
    await until(lambda: openai.left == 1, 1)


async def test_the_connect_limit_names_itself(session: aiohttp.ClientSession):
    # A listener whose queue is full answers no SYN: the connect hangs, on loopback too.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        failed = await Box(session, f"http://127.0.0.1:{full.getsockname()[1]}", Timeouts(0.1, 5, 5, 10)).fails()
        for filler in fillers:
            filler.close()
    assert "`connect`" in failed.error.message
    assert (failed.error.code, failed.elsewhere, failed.reached) == ("upstream_timeout", True, False)


async def test_an_idle_limit_does_not_run_while_the_reader_is_slow(
    session: aiohttp.ClientSession, openai: OpenAIDouble
):
    openai.scripts.append(wire.answers("a", "b"))
    events: list[Event] = []
    async for event in Box(session, openai.url, Timeouts(2, 5, 0.05, 10)).chat():
        events.append(event)
        await asyncio.sleep(0.1)
    assert isinstance(events[-1], Finish)


async def test_an_error_whose_body_stalls_is_known_by_its_status(
    box: Box, openai: OpenAIDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "ERROR_SECONDS", 0.05)
    openai.scripts.append(wire.says(b'{"error"', asyncio.Event(), status=401, content_type="application/json"))
    assert "key" in (await box.fails()).error.message


@pytest.mark.parametrize("piece", [1, 2, 7])
async def test_the_double_says_what_it_was_sent(session: aiohttp.ClientSession, openai: OpenAIDouble, piece: int):
    openai.default = wire.echoes(piece=piece, tokens_only=True)
    body = b'{"messages": [{"role": "user", "content": "Write to [EMAIL_k3j2h4m5], not [x]."}]}'
    outgoing = Outgoing("/chat/completions", {}, body, lambda: Reader(lambda: "c"), refusal)
    box = Box(session, openai.url)
    events = [event async for event in box.lane.chat(box.endpoint, outgoing)]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "[EMAIL_k3j2h4m5]"
    assert KEY.encode() in openai.raw
    assert body in openai.raw
