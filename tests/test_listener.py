import asyncio
import contextlib
import socket
from pathlib import Path
from typing import Any

import pytest

from appliance.listener import Listener, _Connection, same_app
from tests.waiting import until

OPEN_FILES = Path("/proc/self/fd")


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


def bound() -> socket.socket:
    # The protocol named, or asyncio would not turn Nagle's algorithm off.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    return sock


async def ask(sock: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that has been answered once and is still open."""
    reader, writer = await asyncio.open_connection(*sock.getsockname()[:2])
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
    return reader, writer


def open_files() -> int:
    return sum(1 for _ in OPEN_FILES.iterdir())


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="the system does not show open files")
async def test_a_client_that_closes_leaves_no_socket_behind():
    sock = bound()
    listener = await Listener.open(sock, same_app(hello), keep_alive_seconds=3600)
    before = open_files()
    for _ in range(5):
        _, writer = await ask(sock)
        writer.close()
        await writer.wait_closed()
    await until(lambda: open_files() <= before)
    await listener.close()


async def test_a_connection_is_kept_alive_and_ends_with_the_listener():
    sock = bound()
    listener = await Listener.open(sock, same_app(hello), keep_alive_seconds=3600)
    reader, writer = await ask(sock)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await reader.readuntil(b"hello")
    address = sock.getsockname()
    await listener.close()
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address[:2])


async def test_an_idle_connection_is_closed():
    sock = bound()
    listener = await Listener.open(sock, same_app(hello), keep_alive_seconds=0.05)
    reader, writer = await ask(sock)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    await writer.wait_closed()
    await listener.close()


async def test_a_request_that_runs_too_long_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("appliance.listener.GRACE_SECONDS", 0.05)
    started = asyncio.Event()

    async def forever(scope: Any, receive: Any, send: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    sock = bound()
    listener = await Listener.open(sock, same_app(forever), keep_alive_seconds=5)
    reader, writer = await asyncio.open_connection(*sock.getsockname()[:2])
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await started.wait()
    await asyncio.wait_for(listener.close(), 5)
    assert b" 200 " not in await reader.read()
    writer.close()
    await writer.wait_closed()
    assert caplog.text == ""


UPGRADE = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


async def first_answer(sock: socket.socket, asked: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*sock.getsockname()[:2])
    writer.write(asked)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize("http2", [True, False])
async def test_no_upgrade_is_followed(http2: bool):
    sock = bound()
    listener = await Listener.open(sock, same_app(hello), keep_alive_seconds=5, http2=http2)
    answer = await first_answer(sock, b"GET / HTTP/1.1\r\nhost: x\r\n" + UPGRADE + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"hello")
    await listener.close()


async def test_http_2_is_spoken_only_where_it_is_allowed():
    """By its preface (RFC 9113, section 3.4); the first frame of the answer is SETTINGS, of type 4."""
    for http2 in (True, False):
        sock = bound()
        listener = await Listener.open(sock, same_app(hello), keep_alive_seconds=5, http2=http2)
        answer = await first_answer(sock, PREFACE)
        assert (answer[3] == 4) if http2 else answer.startswith((b"HTTP/1.1 2", b"HTTP/1.1 4"))
        await listener.close()


async def test_a_connection_is_used_for_many_requests():
    sock = bound()
    listener = await Listener.open(sock, same_app(hello), keep_alive_seconds=5)
    reader, writer = await ask(sock)
    for _ in range(20):
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()
    await listener.close()


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="the system does not show open files")
async def test_a_body_that_its_app_does_not_read_holds_no_connection():
    taken = asyncio.Event()

    async def deaf(scope: Any, receive: Any, send: Any) -> None:
        await taken.wait()
        await hello(scope, receive, send)

    sock = bound()
    listener = await Listener.open(sock, same_app(deaf), keep_alive_seconds=3600)
    before = open_files()
    reader, writer = await asyncio.open_connection(*sock.getsockname()[:2])
    size = 8_000_000
    writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size + bytes(size))
    await until(lambda: holds_still(writer))  # nobody reads on
    taken.set()
    assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
    writer.transport.abort()
    await until(lambda: open_files() <= before)
    await listener.close()


def holds_still(writer: asyncio.StreamWriter) -> bool:
    return 0 < writer.transport.get_write_buffer_size() < 7_000_000


@pytest.mark.parametrize("http2", [True, False])
async def test_a_client_that_takes_nothing_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch, http2: bool):
    monkeypatch.setattr("appliance.listener.GRACE_SECONDS", 0.05)
    monkeypatch.setattr("appliance.listener.CUT_SECONDS", 0.05)
    started = asyncio.Event()

    async def large(scope: Any, receive: Any, send: Any) -> None:
        started.set()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(50_000_000)})

    sock = bound()
    listener = await Listener.open(sock, same_app(large), keep_alive_seconds=5, http2=http2)
    _, writer = await asyncio.open_connection(*sock.getsockname()[:2])
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await started.wait()
    await asyncio.wait_for(listener.close(), 5)
    writer.transport.abort()


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="the system does not show open files")
async def test_a_closed_connection_waits_only_so_long_for_its_client(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.listener.CLOSE_SECONDS", 0.05)
    go = asyncio.Event()

    async def impatient(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await send({"type": "http.response.body", "body": bytes(50_000_000), "more_body": True})

    sock = bound()
    listener = await Listener.open(sock, same_app(impatient), keep_alive_seconds=5)
    before = open_files()
    _, writer = await asyncio.open_connection(*sock.getsockname()[:2])
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await until(lambda: open_files() == before + 2)
    go.set()
    await until(lambda: open_files() == before + 1)  # the client's own end
    writer.transport.abort()
    await listener.close()


async def test_a_request_that_comes_as_its_connection_times_out_is_answered(monkeypatch: pytest.MonkeyPatch):
    asked = 0
    go = asyncio.Event()

    async def second_waits(scope: Any, receive: Any, send: Any) -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            await go.wait()
        await hello(scope, receive, send)

    close = _Connection._initiate_server_close

    async def at_the_same_time(connection: _Connection) -> None:
        if asked == 1:
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            await until(lambda: asked == 2)
        await close(connection)
        go.set()

    monkeypatch.setattr(_Connection, "_initiate_server_close", at_the_same_time)
    sock = bound()
    listener = await Listener.open(sock, same_app(second_waits), keep_alive_seconds=0.05)
    reader, writer = await ask(sock)
    assert (await asyncio.wait_for(reader.read(), 5)).endswith(b"hello")
    writer.close()
    await writer.wait_closed()
    await listener.close()
