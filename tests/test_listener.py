import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from appliance.listener import Listener, same_app
from tests.waiting import until

OPEN_FILES = Path("/proc/self/fd")


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


def bound() -> socket.socket:
    sock = socket.create_server(("127.0.0.1", 0))
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


async def test_only_http_1_is_spoken():
    """Neither an upgrade nor HTTP/2's preface (RFC 9113, section 3.4) changes the protocol."""
    sock = bound()
    listener = await Listener.open(sock, same_app(hello), keep_alive_seconds=5)
    upgrade = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
    for asked in (
        b"GET / HTTP/1.1\r\nhost: x\r\n" + upgrade + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    ):
        reader, writer = await asyncio.open_connection(*sock.getsockname()[:2])
        writer.write(asked)
        writer.write_eof()
        answer = await asyncio.wait_for(reader.read(), 5)
        assert answer.startswith((b"HTTP/1.1 2", b"HTTP/1.1 4"))
        assert b"HTTP/1.1 101" not in answer
        writer.close()
        await writer.wait_closed()
    await listener.close()
