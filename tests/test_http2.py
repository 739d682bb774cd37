"""HTTP/2 over real sockets, with small apps. What is expected is RFC 9113's, section by section, where one is named."""

import asyncio
import contextlib
import hashlib
import random
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from hpack import Encoder as HeaderEncoder
from hyperframe.frame import ContinuationFrame, GoAwayFrame, HeadersFrame, PriorityFrame, SettingsFrame

from appliance.gateway.asgi import ClientGone, Reply
from appliance.http2 import RUNNING, WINDOW_BYTES
from appliance.http2_wire import HEADER_BYTES, STREAMS
from appliance.listener import Listener, _Connection, same_app
from tests.http2_client import http2_client
from tests.waiting import until

Address = tuple[str, int]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Apps:
    """An app by path, and what they noticed."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.go = asyncio.Event()
        self.asked = self.gone = self.written = 0
        self.notes: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        self.asked += 1
        await getattr(self, scope["path"].strip("/") or "hello")(receive, send)

    async def start(self, send: Any, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})

    async def body(self, send: Any, body: bytes, *, more: bool = True) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": more})

    async def hello(self, receive: Any, send: Any) -> None:
        await self.start(send, 200, (b"content-length", b"5"))
        await self.body(send, b"hello", more=False)

    async def slow(self, receive: Any, send: Any) -> None:
        """Begins, and ends when it is told to."""
        await self.start(send)
        await self.body(send, b"be")
        await self.go.wait()
        await self.body(send, b"gun")
        await self.body(send, b"", more=False)

    async def breaks(self, receive: Any, send: Any) -> None:
        await self.start(send)
        await self.body(send, b"half")
        raise RuntimeError("broken")

    async def stops(self, receive: Any, send: Any) -> None:
        await self.start(send, 200, (b"content-length", b"8"))
        await self.body(send, b"half")

    async def silent(self, receive: Any, send: Any) -> None:
        """Ends without an answer."""

    async def waits(self, receive: Any, send: Any) -> None:
        """Begins an answer and ends when its client leaves."""
        await self.start(send)
        await self.body(send, b"x")
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone += 1

    async def deaf(self, receive: Any, send: Any) -> None:
        """Reads nothing, and does not notice that its client leaves."""
        await self.go.wait()

    async def flood(self, receive: Any, send: Any) -> None:
        await self.start(send)
        for number in range(256):
            await self.body(send, bytes([number]) * 16384)
            self.written += 16384
        await self.body(send, b"", more=False)

    async def impatient(self, receive: Any, send: Any) -> None:
        reply = Reply(send)
        reply.patience = 0.05
        await reply.start(200, ())
        try:
            await reply.write(b"x" * 1_000_000)
        except ClientGone:
            self.gone += 1

    async def digest(self, receive: Any, send: Any) -> None:
        digest, more = hashlib.sha256(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone += 1
                return
            digest.update(message["body"])
            more = message["more_body"]
        await self.start(send)
        await self.body(send, digest.hexdigest().encode(), more=False)

    async def wordy(self, receive: Any, send: Any) -> None:
        """Answers with fields that belong to a connection of HTTP/1.1."""
        fields = ((b"Connection", b"close"), (b"transfer-encoding", b"chunked"), (b"keep-alive", b"5"), (b"x-a", b"b"))
        await self.start(send, 200, *fields)
        await self.body(send, b"ok", more=False)


@pytest.fixture
def apps() -> Apps:
    return Apps()


@pytest.fixture
async def listening(apps: Apps) -> AsyncIterator[Address]:
    async with listener(apps) as (address, _):
        yield address


@asynccontextmanager
async def listener(
    apps: Apps, keep_alive_seconds: float = 60, **options: Any
) -> AsyncIterator[tuple[Address, Listener]]:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    address = sock.getsockname()
    made = await Listener.open(sock, same_app(apps), keep_alive_seconds=keep_alive_seconds, **options)
    yield address, made
    apps.go.set()
    await made.close()


async def test_an_answer_over_http_2(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        stream = client.ask("/hello?a=b", "get", (("x-a", "b"), ("cookie", "a=1"), ("cookie", "b=2")))
        assert await client.end_of(stream) == b"hello"
        assert client.headers[stream].keys() == {b":status", b"content-length", b"date"}
    (scope,) = apps.scopes
    assert (scope["http_version"], scope["scheme"], scope["method"]) == ("2", "http", "GET")
    assert (scope["path"], scope["query_string"], scope["extensions"]) == ("/hello", b"a=b", {})
    assert [*map(tuple, scope["headers"])] == [(b"host", b"x"), (b"x-a", b"b"), (b"cookie", b"a=1; b=2")]


async def test_a_connection_is_used_for_many_requests(listening: Address):
    async with httpx.AsyncClient(http1=False, http2=True, trust_env=False) as http:
        for _ in range(100):
            answer = await http.get(f"http://{listening[0]}:{listening[1]}/")
            assert (answer.http_version, answer.text) == ("HTTP/2", "hello")
    async with http2_client(listening) as client:
        for number in range(100):
            stream = client.ask()
            assert stream == 2 * number + 1
            assert await client.end_of(stream) == b"hello"


async def test_a_hundred_requests_at_a_time(listening: Address):
    async with http2_client(listening) as client:
        streams = [client.ask("/hello") for _ in range(STREAMS)]
        assert {await client.end_of(stream) for stream in streams} == {b"hello"}


async def test_fields_of_a_connection_never_go_out(listening: Address):
    # RFC 9113, section 8.2.2.
    async with http2_client(listening) as client:
        stream = client.ask("/wordy")
        assert await client.end_of(stream) == b"ok"
        assert client.headers[stream].keys() == {b":status", b"x-a", b"date"}


async def test_head_has_no_body(listening: Address):
    async with http2_client(listening) as client:
        stream = client.ask("/hello", "HEAD")
        assert await client.end_of(stream) == b""
        assert client.headers[stream][b"content-length"] == b"5"


@pytest.mark.parametrize("path", ["/breaks", "/stops"])
async def test_an_answer_that_is_not_finished_is_reset_and_others_go_on(
    apps: Apps, listening: Address, caplog: pytest.LogCaptureFixture, path: str
):
    async with http2_client(listening) as client:
        other = client.ask("/slow")
        broken = client.ask(path)
        assert await client.reset_of(broken) == ErrorCodes.INTERNAL_ERROR
        assert broken not in client.ended
        apps.go.set()
        assert await client.end_of(other) == b"begun"
        assert await client.end_of(client.ask()) == b"hello"
    assert [record.message for record in caplog.records] == (["Error in ASGI Framework"] if path == "/breaks" else [])


async def test_an_app_without_an_answer_is_a_500(listening: Address):
    async with http2_client(listening) as client:
        stream = client.ask("/silent")
        assert await client.end_of(stream) == b""
        assert client.headers[stream][b":status"] == b"500"
        assert b"connection" not in client.headers[stream]


async def test_a_stream_that_its_client_resets_is_told_to_its_app_alone(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        left, other = client.ask("/waits"), client.ask("/slow")
        await until(lambda: apps.asked == 2)
        client.reset(left)
        await until(lambda: apps.gone == 1, 1)
        apps.go.set()
        assert await client.end_of(other) == b"begun"


async def test_a_request_that_its_client_gives_up_is_told_to_its_app(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        stream = client.ask("/digest", "POST", body=b"half", end=False)
        await until(lambda: apps.asked == 1)
        client.reset(stream)
        await until(lambda: apps.gone == 1, 1)


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_a_client_that_closes_leaves_all_its_streams(apps: Apps, listening: Address, how: str):
    async with http2_client(listening) as client:
        for _ in range(5):
            client.ask("/waits")
        await until(lambda: apps.asked == 5)
        getattr(client.writer.transport, how)()
        await until(lambda: apps.gone == 5, 1)


async def test_a_large_request_comes_as_it_is_taken(listening: Address):
    body = random.Random(1).randbytes(32 * 1024 * 1024)
    async with http2_client(listening) as client:
        stream = client.ask("/digest", "POST", end=False)
        async with asyncio.timeout(30):
            await client.upload(stream, body)
        assert await client.end_of(stream) == hashlib.sha256(body).hexdigest().encode()


async def test_a_request_that_nobody_reads_stops_no_other(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        unread = [client.ask("/deaf", "POST", end=False) for _ in range(10)]
        for stream in unread:
            await client.upload(stream, b"x" * (WINDOW_BYTES - 1))  # more than the window that all share begins with
        body = b"y" * 200_000
        stream = client.ask("/digest", "POST", end=False)
        await client.upload(stream, body)
        assert await client.end_of(stream) == hashlib.sha256(body).hexdigest().encode()
        for stream in unread:
            client.reset(stream)
        for _ in range(120):  # what was never read is no loss to the window that all share
            stream = client.ask("/digest", "POST", end=False)
            await client.upload(stream, b"z" * 60_000)
            await client.end_of(stream)


async def test_what_comes_behind_an_answer_is_not_wanted_and_harms_nobody(apps: Apps, listening: Address):
    # RFC 9113, section 8.1: RST_STREAM with NO_ERROR, behind an answer that is whole.
    async with http2_client(listening) as client:
        other = client.ask("/slow")
        early = client.ask("/hello", "POST", end=False)
        assert await client.end_of(early) == b"hello"
        assert await client.reset_of(early) == ErrorCodes.NO_ERROR
        frame = b"\x00\x40\x00\x00\x00" + early.to_bytes(4) + bytes(16384)
        for _ in range(200):  # on their way when it was reset; the window that all share has no room for them all
            client.writer.write(frame)
        apps.go.set()
        assert await client.end_of(other) == b"begun"
        assert await client.end_of(client.ask()) == b"hello"


async def test_a_client_that_takes_nothing_of_one_stream_stops_only_that(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        flood = client.ask("/flood")
        client.unread.add(flood)
        client.wire.increment_flow_control_window(10_000_000)  # of the connection
        client.flush()
        await until(lambda: len(client.body[flood]) == WINDOW_BYTES)
        for _ in range(20):
            assert await client.end_of(client.ask()) == b"hello"
        assert apps.written < 200_000  # the app waits: what it gave is not kept here
        client.wire.increment_flow_control_window(10_000_000, flood)
        client.flush()
        assert await client.end_of(flood) == b"".join(bytes([number]) * 16384 for number in range(256))


async def test_an_app_that_loses_patience_resets_only_its_stream(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        other = client.ask("/slow")
        stream = client.ask("/impatient")
        client.unread.add(stream)
        client.wire.increment_flow_control_window(1_000_000)  # of the connection
        client.flush()
        assert await client.reset_of(stream) == ErrorCodes.INTERNAL_ERROR
        assert apps.gone == 1
        apps.go.set()
        assert await client.end_of(other) == b"begun"


async def test_a_window_that_becomes_smaller_than_nothing(apps: Apps, listening: Address):
    # RFC 9113, section 6.9.2.
    async with http2_client(listening) as client:
        stream = client.ask("/flood")
        client.unread.add(stream)
        client.wire.increment_flow_control_window(10_000_000)  # of the connection
        client.flush()
        await until(lambda: len(client.body[stream]) == WINDOW_BYTES)
        client.wire.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 10})
        client.flush()
        await until(lambda: client.wire.local_settings.initial_window_size == 10)
        assert await client.end_of(client.ask("/wordy", "HEAD")) == b""
        client.wire.increment_flow_control_window(WINDOW_BYTES - 10 + 7, stream)
        client.flush()
        await until(lambda: len(client.body[stream]) == WINDOW_BYTES + 7)
        client.wire.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 10_000_000})
        client.flush()
        assert len(await client.end_of(stream)) == 256 * 16384


async def test_a_client_that_reads_nothing_at_all_is_given_up(
    apps: Apps, listening: Address, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("appliance.listener.WRITE_SECONDS", 0.2)
    async with http2_client(listening) as client:
        client.wire.increment_flow_control_window(2**30)
        waits = client.ask("/waits")
        floods = [client.ask("/flood") for _ in range(10)]  # more than the system keeps for the client
        for flood in floods:
            client.wire.increment_flow_control_window(2**30, flood)
        client.flush()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await until(lambda: apps.gone == 1)
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        await client.is_closed()
        assert not client.ended & {waits, *floods}


@pytest.mark.parametrize("before", ["nothing", "an answer", "a reset"])
async def test_an_idle_connection_is_closed_with_a_word(apps: Apps, before: str):
    async with listener(apps, 0.05) as (address, _), http2_client(address) as client:
        if before == "an answer":
            assert await client.end_of(client.ask()) == b"hello"
        elif before == "a reset":
            stream = client.ask("/waits")
            await until(lambda: apps.asked == 1)
            client.reset(stream)
        await client.is_closed()
        assert client.goaway is not None
        assert client.goaway.error_code == ErrorCodes.NO_ERROR
        assert client.goaway.last_stream_id == apps.asked


async def test_a_connection_with_a_stream_is_not_idle(apps: Apps):
    async with listener(apps, 0.05) as (address, _), http2_client(address) as client:
        stream = client.ask("/slow")
        assert await client.end_of(client.ask()) == b"hello"
        await asyncio.sleep(0.2)  # longer than an idle connection is kept
        apps.go.set()
        assert await client.end_of(stream) == b"begun"
        await client.is_closed()


async def test_a_request_that_comes_as_its_connection_times_out_is_answered(
    apps: Apps, monkeypatch: pytest.MonkeyPatch
):
    close = _Connection._initiate_server_close

    async def at_the_same_time(connection: _Connection) -> None:
        if not apps.asked:
            client.ask("/slow")
            await until(lambda: apps.asked == 1)
        await close(connection)
        apps.go.set()

    monkeypatch.setattr(_Connection, "_initiate_server_close", at_the_same_time)
    async with listener(apps, 0.05) as (address, _), http2_client(address) as client:
        assert await client.end_of(1) == b"begun"
        await client.is_closed()


async def test_an_idle_connection_ends_with_the_listener(apps: Apps):
    async with listener(apps) as (address, made), http2_client(address) as client:
        assert await client.end_of(client.ask()) == b"hello"
        await asyncio.wait_for(made.close(), 1)
        await client.is_closed(1)
        assert client.goaway is not None


async def test_streams_end_when_the_listener_closes_and_no_new_one_begins(apps: Apps):
    async with listener(apps) as (address, made), http2_client(address) as client:
        running = [client.ask("/slow"), client.ask("/slow")]
        await until(lambda: apps.asked == 2)
        closing = asyncio.ensure_future(made.close())
        await asyncio.sleep(0)  # until it has begun
        # This reason alone says that the request may be tried again (section 8.7).
        assert await client.reset_of(client.ask()) == ErrorCodes.REFUSED_STREAM
        assert client.goaway is None
        apps.go.set()
        assert [await client.end_of(stream) for stream in running] == [b"begun", b"begun"]
        await asyncio.wait_for(closing, 2)
        await client.is_closed(1)
        assert apps.asked == 2
        assert client.goaway is not None


async def test_streams_that_do_not_end_are_cut_off(apps: Apps, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.listener.GRACE_SECONDS", 0.05)
    async with listener(apps) as (address, made), http2_client(address) as client:
        streams = [client.ask("/slow"), client.ask("/deaf")]
        await until(lambda: apps.asked == 2)
        await asyncio.wait_for(made.close(), 2)
        await client.is_closed(1)
        assert client.ended.isdisjoint(streams)


async def test_a_client_that_will_ask_no_more_gets_its_answers(apps: Apps, listening: Address):
    # RFC 9113, section 6.8. Node's `session.close()` says GOAWAY while streams are open.
    async with http2_client(listening) as client:
        stream = client.ask("/slow")
        client.writer.write(GoAwayFrame(0).serialize())
        await until(lambda: apps.asked == 1)
        apps.go.set()
        assert await client.end_of(stream) == b"begun"
        client.writer.write(GoAwayFrame(0).serialize())
        await client.is_closed(1)


async def test_a_client_that_gives_up_the_connection_leaves_its_streams(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        client.ask("/waits")
        await until(lambda: apps.asked == 1)
        client.writer.write(GoAwayFrame(0, error_code=ErrorCodes.INTERNAL_ERROR).serialize())
        await until(lambda: apps.gone == 1, 1)
        await client.is_closed(1)


async def test_apps_that_run_on_behind_a_reset_are_limited(apps: Apps, listening: Address):
    # CVE-2023-44487: at most STREAMS are open at a time, but one that was reset is free again at once.
    async with http2_client(listening) as client:
        for number in range(1, RUNNING // STREAMS + 1):
            streams = [client.ask("/deaf") for _ in range(STREAMS)]
            await until(lambda number=number: apps.asked == number * STREAMS)
            for stream in streams:
                client.reset(stream)
        assert await client.reset_of(client.ask()) == ErrorCodes.REFUSED_STREAM
        apps.go.set()
        await until(lambda: len(asyncio.all_tasks()) < RUNNING)
        assert await client.end_of(client.ask()) == b"hello"
        assert apps.asked == RUNNING + 1


async def test_a_request_that_is_reset_as_it_comes_is_none(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        for stream in range(1, 2000, 2):
            client.wire.send_headers(stream, [(":method", "GET"), (":path", "/"), (":scheme", "http"), ("host", "x")])
            client.wire.reset_stream(stream)
        client.flush()
        assert await client.end_of(client.ask()) == b"hello"
        assert apps.asked < 200  # 2 kB are looked at together, and some pairs are torn apart


async def test_streams_that_were_reset_leave_nothing_behind(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        for number in range(1, 16):
            streams = {client.ask("/waits") for _ in range(STREAMS)}
            await until(lambda streams=streams: streams <= client.headers.keys())
            for stream in streams:
                client.reset(stream)
            await until(lambda number=number: apps.gone == number * STREAMS)
        assert await client.end_of(client.ask()) == b"hello"


async def test_more_streams_than_allowed_end_the_connection(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        client.wire.remote_settings = Settings(client=False)  # does not know the limit
        for _ in range(STREAMS + 1):
            client.ask("/waits")
        await client.is_closed()
        assert client.goaway is not None
        assert client.goaway.error_code == ErrorCodes.PROTOCOL_ERROR
        await until(lambda: apps.gone == apps.asked)


async def test_a_header_that_is_too_large_ends_the_connection(apps: Apps, listening: Address):
    async with http2_client(listening) as client:
        fits = (("a", "b" * (HEADER_BYTES - 500)),)
        assert await client.end_of(client.ask("/", "GET", fits)) == b"hello"
        other = client.ask("/waits")
        client.ask("/", "GET", (("a", "b" * HEADER_BYTES),))
        await client.is_closed()
        assert client.goaway is not None
        assert client.goaway.error_code == ErrorCodes.ENHANCE_YOUR_CALM
        assert other not in client.ended
        assert apps.gone == 1


async def test_a_header_without_end_ends_the_connection(listening: Address):
    async with http2_client(listening) as client:
        begun = HeadersFrame(1, client.wire.encoder.encode([(b":method", b"GET")]))
        client.writer.write(begun.serialize() + ContinuationFrame(1, b"").serialize() * 1000)
        await client.is_closed()
        assert client.goaway is not None
        assert client.goaway.error_code == ErrorCodes.PROTOCOL_ERROR


@pytest.mark.parametrize(
    "fields",
    [
        {":method": "CONNECT", ":authority": "example.com:443"},
        {":method": "GET", ":scheme": "http", ":path": "/é", ":authority": "x"},
        {":method": "GET", ":scheme": "http", ":path": "/ /", ":authority": "x"},
        {":method": "É", ":scheme": "http", ":path": "/", ":authority": "x"},
    ],
)
async def test_a_request_that_no_app_can_be_asked_is_reset_alone(
    apps: Apps, listening: Address, fields: dict[str, str]
):
    async with http2_client(listening) as client:
        other = client.ask("/slow")
        client.wire.config.validate_outbound_headers = False
        stream = client.wire.get_next_available_stream_id()
        client.wire.send_headers(stream, list(fields.items()), end_stream=True)
        client.flush()
        assert await client.reset_of(stream) == ErrorCodes.PROTOCOL_ERROR
        apps.go.set()
        assert await client.end_of(other) == b"begun"
        assert len(apps.scopes) == 1


@pytest.mark.parametrize(
    "fields",
    [(("X-Upper", "a"),), (("connection", "close"),), ((":path", "/"),), (("content-length", "1"),)],
)
async def test_a_malformed_request_is_reset_alone(apps: Apps, listening: Address, fields: tuple[tuple[str, str]]):
    # Section 8.1.1; test_http2_wire.py has all that makes one.
    async with http2_client(listening) as client:
        other = client.ask("/slow")
        client.wire.config.validate_outbound_headers = client.wire.config.normalize_outbound_headers = False
        assert await client.reset_of(client.ask("/hello", "POST", fields)) == ErrorCodes.PROTOCOL_ERROR
        apps.go.set()
        assert await client.end_of(other) == b"begun"
        assert await client.end_of(client.ask()) == b"hello"
        assert apps.asked == 2


@pytest.mark.parametrize("size", [1, 16_000])
async def test_a_body_that_is_not_as_long_as_was_announced_is_told_to_its_app_as_broken_off(
    apps: Apps, listening: Address, size: int
):
    async with http2_client(listening) as client:
        other = client.ask("/slow")
        for _ in range(STREAMS * 2):  # what is too much takes nothing of the window that all share
            stream = client.ask("/digest", "POST", (("content-length", "2"),), b"x" * size)
            assert await client.reset_of(stream) == ErrorCodes.PROTOCOL_ERROR
        await until(lambda: apps.gone == apps.asked - 1)
        apps.go.set()
        assert await client.end_of(other) == b"begun"
        stream = client.ask("/digest", "POST", end=False)
        await client.upload(stream, b"y" * 200_000)
        assert await client.end_of(stream) == hashlib.sha256(b"y" * 200_000).hexdigest().encode()


async def test_priorities_are_taken_and_ignored(listening: Address):
    # RFC 9113, section 5.3.2: they are deprecated.
    async with http2_client(listening) as client:
        for number in range(1, 6001, 2):
            client.writer.write(PriorityFrame(number, depends_on=number + 2, stream_weight=5).serialize())
        assert await client.end_of(client.ask()) == b"hello"


async def test_empty_pieces_of_a_request_are_nothing(listening: Address):
    async with http2_client(listening) as client:
        stream = client.ask("/digest", "POST", end=False)
        for _ in range(10_000):
            client.wire.send_data(stream, b"")
        client.wire.send_data(stream, b"", pad_length=200, end_stream=True)
        client.flush()
        assert await client.end_of(stream) == hashlib.sha256().hexdigest().encode()


async def test_padding_is_no_loss_to_the_windows(listening: Address):
    async with http2_client(listening) as client:
        stream = client.ask("/digest", "POST", end=False)
        for _ in range(1000):
            await until(lambda: client.wire.local_flow_control_window(stream) > 300)
            client.wire.send_data(stream, b"x", pad_length=255)
            client.flush()
        client.wire.end_stream(stream)
        client.flush()
        assert await client.end_of(stream) == hashlib.sha256(b"x" * 1000).hexdigest().encode()


async def test_a_request_with_a_trailer(listening: Address):
    async with http2_client(listening) as client:
        stream = client.ask("/digest", "POST", body=b"x", end=False)
        client.wire.send_headers(stream, [("x-checksum", "1")], end_stream=True)
        client.flush()
        assert await client.end_of(stream) == hashlib.sha256(b"x").hexdigest().encode()


async def test_garbage_harms_nobody(apps: Apps, listening: Address, caplog: pytest.LogCaptureFixture):
    source = random.Random(9)
    for _ in range(150):
        reader, writer = await asyncio.open_connection(*listening)
        writer.write(PREFACE + SettingsFrame(0).serialize() + b"".join(_frame(source) for _ in range(30)))
        writer.write_eof()
        await asyncio.wait_for(_drained(reader), 10)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    async with http2_client(listening) as client:
        assert await client.end_of(client.ask()) == b"hello"
    assert caplog.text == ""


def _frame(source: random.Random) -> bytes:
    """Bytes that look like a frame: its type may be one that there is, and its stream one that is open."""
    if source.random() < 0.3:
        fields = [(b":method", b"POST"), (b":path", b"/digest"), (b":scheme", b"http"), (b":authority", b"x")]
        source.shuffle(fields)
        block = HeaderEncoder().encode(fields[: source.choice([3, 4, 4, 4, 4])])
        flags = source.choice([["END_HEADERS"], ["END_HEADERS", "END_STREAM"], []])
        return HeadersFrame(source.choice([1, 3, 5, 7, 9]), block, flags=flags).serialize()
    body = source.randbytes(source.choice([0, 4, 4, 5, 6, 8, 30]))
    head = len(body).to_bytes(3) + bytes([source.randrange(11), source.randrange(64)])
    return head + source.choice([0, 1, 1, 3, 5, 2, 99]).to_bytes(4) + body


async def _drained(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read()


async def test_tls_may_settle_on_either_protocol(apps: Apps, monkeypatch: pytest.MonkeyPatch):
    server, client = contexts()
    monkeypatch.setattr("appliance.listener.asyncio.start_server", partial(asyncio.start_server, ssl=server))
    async with listener(apps) as ((_, port), made):
        for http2 in (True, False):
            async with httpx.AsyncClient(http2=http2, verify=client, trust_env=False) as http:
                answer = await http.get(f"https://localhost:{port}/")
                assert (answer.http_version, answer.text) == ("HTTP/2" if http2 else "HTTP/1.1", "hello")
                if http2:
                    broken = http.stream("GET", f"https://localhost:{port}/stops")
                    with pytest.raises(httpx.RemoteProtocolError, match="error_code:2"):
                        async with broken as begun:
                            await begun.aread()
        await asyncio.wait_for(made.close(), 2)
    assert {scope["scheme"] for scope in apps.scopes} == {"https"}


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a server on this machine that speaks both protocols, and of its client."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.set_alpn_protocols(["h2", "http/1.1"])
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        file.flush()
        server.load_cert_chain(file.name)
    return server, ssl.create_default_context(cadata=certificate.decode())
