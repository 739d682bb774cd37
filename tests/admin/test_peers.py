"""The socket and its connections, on a real file system. The blocking calls on paths take microseconds."""

# ruff: noqa: ASYNC240  the tests look at the socket's file

import asyncio
import fcntl
import grp
import json
import os
import pwd
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import uvloop

from appliance.admin import peers
from appliance.admin.peers import PEER, AdminListener, Peer, login_of
from appliance.errors import StateError
from appliance.listener import App


async def whoami(scope: Any, receive: Any, send: Any) -> None:
    """An app that answers with the peer in its scope."""
    assert scope["type"] == "http"
    peer: Peer = scope[PEER]
    body = json.dumps({"pid": peer.pid, "uid": peer.uid, "gid": peer.gid, "login": peer.login}).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def ask(path: Path) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session,
        session.get("http://daemon/", raise_for_status=True) as response,
    ):
        return await response.json(content_type=None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "admin.sock"


Open = Callable[..., Coroutine[Any, Any, AdminListener]]


@pytest.fixture
async def listen(path: Path) -> AsyncIterator[Open]:
    opened: list[AdminListener] = []

    async def listen(app: App = whoami, at: Path = path) -> AdminListener:
        opened.append(await AdminListener.open(at, app))
        return opened[-1]

    yield listen
    for listener in opened:
        await listener.close()


async def test_the_app_learns_who_is_connected(listen: Open, path: Path):
    await listen()
    assert await ask(path) == {
        "pid": os.getpid(),
        "uid": os.getuid(),
        "gid": os.getgid(),
        "login": pwd.getpwuid(os.getuid()).pw_name,
    }


def test_the_same_on_uvloop(path: Path):
    async def run() -> dict[str, Any]:
        listener = await AdminListener.open(path, whoami)
        try:
            return await ask(path)
        finally:
            await listener.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run())["pid"] == os.getpid()
    assert not path.exists()


async def test_each_connection_has_its_own_peer(listen: Open, path: Path):
    await listen()
    code = "import json,socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
    code += "s.sendall(b'GET / HTTP/1.1\\r\\nHost: d\\r\\nConnection: close\\r\\n\\r\\n')\n"
    code += "print(s.makefile('rb').read().split(b'\\r\\n\\r\\n')[1].decode())"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(path), stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await process.communicate()
    assert json.loads(answer)["pid"] == process.pid
    assert (await ask(path))["pid"] == os.getpid()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
async def test_a_stranger_may_not_connect(listen: Open, path: Path):
    await listen()
    code = "import os,socket\nos.setgroups([])\nos.setgid(65534)\nos.setuid(65534)\n"
    code += "try: socket.socket(socket.AF_UNIX).connect('admin.sock')\nexcept PermissionError: print('refused')"
    result = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], cwd=path.parent, capture_output=True, text=True, check=True
    )
    assert result.stdout == "refused\n"


def test_a_user_without_a_name_is_a_number():
    assert login_of(4_000_000_001) == "uid 4000000001"


async def test_where_the_system_does_not_tell_the_peer_is_unknown(
    listen: Open, path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr(socket, "SO_PEERCRED")
    await listen()
    assert await ask(path) == {"pid": -1, "uid": -1, "gid": -1, "login": "unknown"}


async def test_the_socket_is_for_owner_and_group_only(listen: Open, path: Path):
    before = os.umask(0)
    try:
        await listen()
    finally:
        os.umask(before)
    found = path.stat()
    assert stat.S_ISSOCK(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o660


async def test_a_strict_umask_does_not_lock_the_group_out(listen: Open, path: Path):
    path.parent.mkdir()
    before = os.umask(0o077)
    try:
        await listen()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


async def test_the_group_is_synapse_where_there_is_one(listen: Open, path: Path, monkeypatch: pytest.MonkeyPatch):
    others = [group for group in grp.getgrall() if group.gr_gid != os.getegid()]
    mine = others if os.getuid() == 0 else [group for group in others if group.gr_gid in os.getgroups()]
    if not mine:
        pytest.skip("this user is in one group only")
    monkeypatch.setattr(peers, "GROUP", mine[0].gr_name)
    await listen()
    assert path.stat().st_gid == mine[0].gr_gid


async def test_without_the_group_the_socket_is_our_own(listen: Open, path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(peers, "GROUP", "no-such-group")
    await listen()
    assert path.stat().st_gid == os.getegid()


class TestWhatIsThere:
    async def test_a_living_daemon_keeps_its_socket(self, listen: Open, path: Path):
        await listen()
        with pytest.raises(StateError, match=rf"Another daemon answers on {path}\."):
            await listen()
        assert (await ask(path))["pid"] == os.getpid()

    async def test_also_one_that_is_too_busy_to_accept(self, listen: Open, path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(peers, "PROBE_SECONDS", 0.1)
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
            busy.bind(str(path))
            busy.listen(0)
            waiting.connect(str(path))
            with pytest.raises(StateError, match="Another daemon answers"):
                await listen()

    async def test_what_a_dead_one_left_is_removed(self, listen: Open, path: Path):
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
        await listen()
        assert (await ask(path))["pid"] == os.getpid()

    @pytest.mark.parametrize("kind", ["file", "directory", "link"])
    async def test_what_is_no_socket_is_left_alone(self, listen: Open, path: Path, kind: str):
        path.parent.mkdir()
        if kind == "file":
            path.write_text("precious")
        elif kind == "directory":
            path.mkdir()
        else:
            path.symlink_to(path.parent / "elsewhere")
        with pytest.raises(StateError, match="is there and is not a socket"):
            await listen()
        assert path.is_symlink() or path.exists()

    async def test_of_several_that_start_at_once_one_listens(self, listen: Open, path: Path):
        path.parent.mkdir()
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
        results = await asyncio.gather(*(listen() for _ in range(8)), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["AdminListener"] + ["StateError"] * 7
        assert (await ask(path))["pid"] == os.getpid()

    async def test_a_lock_that_never_opens_is_an_error(self, listen: Open, path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(peers, "LOCK_SECONDS", 0.1)
        path.parent.mkdir()
        held = os.open(path.parent, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            with pytest.raises(StateError, match="holds a lock"):
                await listen()
        finally:
            os.close(held)

    @pytest.mark.parametrize("length", [108, 300])
    async def test_a_path_that_is_too_long(self, listen: Open, tmp_path: Path, length: int):
        path = tmp_path / ("x" * (length - len(str(tmp_path))))
        with pytest.raises(StateError, match=r"cannot be made \(.*\)\. Set admin\.socket"):
            await listen(at=path)

    async def test_a_directory_that_cannot_be_made(self, listen: Open, tmp_path: Path):
        (tmp_path / "file").write_text("")
        with pytest.raises(StateError, match=r"cannot be made \(.*\)\. Set admin\.socket"):
            await listen(at=tmp_path / "file" / "admin.sock")


class TestClose:
    async def test_nothing_is_left_and_another_can_start(self, listen: Open, path: Path):
        first = await listen()
        await ask(path)
        await first.close()
        await first.close()
        assert not path.exists()
        await listen()
        assert (await ask(path))["pid"] == os.getpid()

    async def test_the_socket_of_a_successor_stays(self, listen: Open, path: Path):
        first = await listen()
        path.rename(path.with_name("old.sock"))  # or an administrator removed it
        await listen()
        await first.close()
        assert (await ask(path))["pid"] == os.getpid()

    async def test_an_idle_connection_does_not_hold_it_up(self, listen: Open, path: Path):
        listener = await listen()
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET / HTTP/1.1\r\nHost: d\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await asyncio.wait_for(listener.close(), 2)
        await reader.read()
        assert reader.at_eof()
        writer.close()

    async def test_a_request_that_is_being_answered_ends(self, listen: Open, path: Path):
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            await go_on.wait()
            await whoami(scope, receive, send)

        listener = await listen(slow)
        answer = asyncio.create_task(ask(path))
        await begun.wait()
        closing = asyncio.create_task(listener.close())
        go_on.set()
        assert (await answer)["pid"] == os.getpid()
        await asyncio.wait_for(closing, 2)

    async def test_one_that_never_ends_is_cut_off(self, listen: Open, path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("appliance.listener.GRACE_SECONDS", 0.1)
        begun = asyncio.Event()
        ended: list[str] = []

        async def endless(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")

        listener = await listen(endless)
        answer = asyncio.create_task(ask(path))
        await begun.wait()
        await asyncio.wait_for(listener.close(), 2)
        assert ended == ["cancelled"]
        with pytest.raises(aiohttp.ClientError):
            await answer
