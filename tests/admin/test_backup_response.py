import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from appliance.admin.backup_response import BackupResponse
from appliance.admin.backups import Outgoing
from appliance.errors import StateError
from tests.waiting import until


class Played:
    """A client, and a backup of two pieces. `hold`: nothing comes after the first."""

    def __init__(self, *, hold: bool = False, fails: bool = False) -> None:
        self.hold, self.fails = hold, fails
        self.sent: list[dict[str, Any]] = []
        self.leaves = asyncio.Event()
        self.ended = False

    @asynccontextmanager
    async def made(self) -> AsyncGenerator[Outgoing]:
        try:
            if self.fails:
                raise StateError("no room")
            yield Outgoing(6, self.pieces())
        finally:
            self.ended = True

    async def pieces(self) -> AsyncIterator[bytes]:
        yield b"abc"
        if self.hold:
            await asyncio.Event().wait()
        yield b"def"

    async def receive(self) -> dict[str, Any]:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def run(self) -> None:
        await BackupResponse(self.made())({}, self.receive, self.send)


async def test_it_is_sent_as_it_is_made_and_says_how_much_it_is():
    played = Played()
    await played.run()
    start, *pieces = played.sent
    assert (start["status"], dict(start["headers"])[b"content-length"]) == (200, b"6")
    assert b"".join(piece["body"] for piece in pieces) == b"abcdef"
    assert [piece.get("more_body", False) for piece in pieces] == [True, True, False]
    assert played.ended


async def test_a_client_that_leaves_ends_it():
    played = Played(hold=True)
    work = asyncio.ensure_future(played.run())
    await until(lambda: len(played.sent) == 2)
    played.leaves.set()
    await work
    assert played.ended
    assert all(message.get("more_body", True) for message in played.sent)


async def test_what_cannot_be_made_is_raised_before_anything_is_sent():
    played = Played(fails=True)
    with pytest.raises(StateError, match="no room"):
        await played.run()
    assert played.sent == []


async def test_a_daemon_that_stops_ends_it():
    played = Played(hold=True)
    work = asyncio.ensure_future(played.run())
    await until(lambda: len(played.sent) == 2)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert played.ended
