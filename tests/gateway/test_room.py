"""That large bodies wait for each other, and small ones for none. A refusal is as gateway.md says ("Errors")."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from appliance.errors import Overloaded
from appliance.gateway import room as rooms
from appliance.gateway.room import Room
from tests.box import CHAT, Box, box
from tests.upstreams.ollama import OllamaDouble, done, line, says
from tests.waiting import until

MB = 1024 * 1024


async def test_there_is_room_up_to_the_last_byte():
    room = Room(10)
    with room.place() as one, room.place() as other:
        await one.take(4)
        await asyncio.wait_for(other.take(6), 1)


async def test_a_place_is_given_back_when_its_call_ends():
    room = Room(10)
    for how in (None, ValueError):
        with ExitStack() as stack:
            if how:
                stack.enter_context(pytest.raises(how))
            with room.place() as place:
                await asyncio.wait_for(place.take(10), 1)
                if how:
                    raise how


async def test_who_has_no_room_waits_until_there_is():
    room = Room(10)
    with room.place() as other, room.place() as one:
        await one.take(8)
        waiting = asyncio.ensure_future(other.take(5))
        await asyncio.sleep(0)
        one.keep(6)
        await asyncio.sleep(0)
        assert (waiting.done(), room.waiting) == (False, 1)
        one.keep(5)
        await asyncio.wait_for(waiting, 1)
        assert room.waiting == 0
        assert (one.size, other.size) == (5, 5)


async def test_to_keep_more_than_one_has_is_to_keep_it_all():
    room = Room(10)
    with room.place() as one, room.place() as other:
        await one.take(4)
        one.keep(8)
        await asyncio.wait_for(other.take(6), 1)


async def test_nobody_overtakes_one_who_waits():
    room = Room(10)
    with room.place() as first, room.place() as large, room.place() as little:
        await first.take(5)
        turns: list[str] = []

        async def take(name: str, place: rooms.Place, size: int) -> None:
            await place.take(size)
            turns.append(name)

        waiting = asyncio.gather(take("large", large, 6), take("little", little, 4))
        await asyncio.sleep(0)
        assert turns == []
        first.keep(0)
        await asyncio.wait_for(waiting, 1)
        assert turns == ["large", "little"]


async def test_who_waits_too_long_is_refused_and_leaves_the_others_their_turn(monkeypatch: pytest.MonkeyPatch):
    room = Room(10)
    with room.place() as one, room.place() as late, room.place() as gone, room.place() as next_one:
        await one.take(10)
        monkeypatch.setattr(rooms, "WAIT_SECONDS", 0.02)
        with pytest.raises(Overloaded, match="other large requests"):
            await late.take(10)
        monkeypatch.undo()
        left = asyncio.ensure_future(gone.take(10))
        waiting = asyncio.ensure_future(next_one.take(10))
        await asyncio.sleep(0)
        left.cancel()
        one.keep(0)
        await asyncio.wait_for(waiting, 1)
        assert (late.size, gone.size, next_one.size) == (0, 0, 10)


@pytest.fixture
async def narrow(tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Box]:
    """A gateway with room for one large body."""
    monkeypatch.setattr("appliance.app.ROOM_BYTES", 0)
    ollama.context_length = 1_000_000
    async with box(
        tmp_path / "state", ollama.url, SYNAPSE_GATEWAY__MAX_BODY_MB="2", SYNAPSE_LOCAL__CONTEXT="1000000"
    ) as made:
        yield made


def large(gateway: Box) -> bytes:
    return gateway.body("Good morning. " * 100_000)


def ways(gateway: Box) -> list[dict[str, object]]:
    """A large body with its length, without, and compressed to a small one."""

    async def pieces() -> AsyncIterator[bytes]:
        yield large(gateway)

    return [
        {"content": large(gateway)},
        {"content": pieces()},
        {"content": gzip.compress(large(gateway)), "headers": {"content-encoding": "gzip"}},
    ]


async def post(gateway: Box, path: str = CHAT, **how: object) -> httpx.Response:
    return await gateway.http.post(path, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", range(3))
async def test_a_large_body_waits_until_the_call_of_another_is_over(narrow: Box, ollama: OllamaDouble, way: int):
    go = asyncio.Event()
    ollama.scripts.append(says(line("Hel"), go, line("lo"), done()))
    first = asyncio.ensure_future(post(narrow, **ways(narrow)[way]))
    await until(lambda: ollama.active == 1)
    second = asyncio.ensure_future(post(narrow, **ways(narrow)[way]))
    for _ in range(5):
        assert (await narrow.chat()).status_code == 200  # a small one does not
    assert (len(ollama.received), second.done()) == (6, False)
    go.set()
    assert [(await one).status_code for one in (first, second)] == [200, 200]


async def test_a_large_body_that_finds_no_room_is_told_to_come_again(
    narrow: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    go = asyncio.Event()
    ollama.scripts.append(says(line("Hel"), go, line("lo"), done()))
    first = asyncio.ensure_future(post(narrow, content=large(narrow)))
    await until(lambda: ollama.active == 1)
    monkeypatch.setattr(rooms, "WAIT_SECONDS", 0.05)
    for way in ways(narrow):
        refused = await post(narrow, **way)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
        assert refused.headers["retry-after"] == "5"
        assert "x-pulse-proof" not in refused.headers
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        refused = await post(narrow, path, content=large(narrow))
        assert (refused.status_code, refused.json()["error"]["type"]) == (529, "overloaded_error")
    go.set()
    assert (await first).status_code == 200
    assert (await post(narrow, content=large(narrow))).status_code == 200


async def test_what_is_refused_gives_its_room_back(narrow: Box):
    for _ in range(3):
        assert (await post(narrow, content=b"x" * (2 * MB))).status_code == 400
        assert (
            await post(narrow, content=gzip.compress(bytes(3 * MB)), headers={"content-encoding": "gzip"})
        ).status_code == 413
    counted = await post(narrow, "/v1/messages/count_tokens", content=large(narrow))
    assert counted.json() == {"input_tokens": 350_000}
