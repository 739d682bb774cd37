import asyncio
import gzip
import hashlib
from typing import Any

import pytest

from appliance.errors import BadRequest, BodyStalled, BodyTooLarge
from appliance.gateway.asgi import Body, ClientGone, Reply
from appliance.gateway.asgi import read_body as read_body_in_place
from appliance.gateway.room import SMALL_BYTES, Room

MB = 1024 * 1024


def receiver(*messages: dict[str, Any]):
    queue = list(messages)

    async def receive() -> dict[str, Any]:
        return queue.pop(0)

    return receive


def scope(**headers: str) -> dict[str, Any]:
    return {"headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]}


async def read_body(scope: Any, receive: Any, limit: int) -> Body:
    with Room().place() as place:
        return await read_body_in_place(scope, receive, limit, place)


def part(body: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_in_pieces():
    receive = receiver(part(b"ab", more=True), part(b"", more=True), part(b"c"))
    assert await read_body(scope(), receive, 3) == Body(b"abc", hashlib.sha256(b"abc").hexdigest(), 3)


async def test_the_limit_counts_what_came_not_what_was_announced():
    with pytest.raises(BodyTooLarge):
        await read_body(scope(), receiver(part(b"ab", more=True), part(b"cd", more=True)), 3)
    with pytest.raises(BodyTooLarge):
        await read_body(scope(content_length="1"), receiver(part(b"abcd")), 3)


async def test_an_announced_size_over_the_limit_is_refused_before_anything_is_read():
    with pytest.raises(BodyTooLarge, match="max_body_mb"):
        await read_body(scope(content_length="4"), receiver(), 3)


async def test_a_client_that_leaves_while_it_sends():
    with pytest.raises(ClientGone):
        await read_body(scope(), receiver(part(b"a", more=True), {"type": "http.disconnect"}), 3)


def trickle(seconds: float):
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(seconds)
        return part(b"a", more=True)

    return receive


async def test_a_client_that_pauses_in_its_body_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.gateway.asgi.PAUSE_SECONDS", 0.02)
    with pytest.raises(BodyStalled, match="did not come in time"):
        await asyncio.wait_for(read_body(scope(), trickle(3600), 3), 1)


async def test_a_body_that_comes_too_slowly_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.gateway.asgi.BODY_SECONDS", 0.1)
    with pytest.raises(BodyStalled, match="did not come in time"):
        await asyncio.wait_for(read_body(scope(), trickle(0.001), MB), 1)


async def test_a_compressed_body_is_decoded_and_its_hash_is_of_what_came():
    content = b"abc" * 1000
    received = gzip.compress(content)
    receive = receiver(part(received[:5], more=True), part(received[5:]))
    body = await read_body(scope(content_encoding="gzip"), receive, 3000)
    assert body == Body(content, hashlib.sha256(received).hexdigest(), len(received))


@pytest.mark.parametrize("name", ["", "identity", "IDENTITY "])
async def test_a_coding_that_is_none(name: str):
    assert (await read_body(scope(content_encoding=name), receiver(part(b"a")), 3)).content == b"a"


async def test_a_coding_that_we_do_not_know_is_refused_before_anything_is_read():
    with pytest.raises(BadRequest, match="with gzip or deflate, or send it plain"):
        await read_body(scope(content_encoding="br"), receiver(), 3)


async def test_the_limit_holds_for_what_comes_and_for_what_it_becomes():
    received = gzip.compress(b"a" * 1001)
    with pytest.raises(BodyTooLarge, match=r"^The request body .* max_body_mb"):
        await read_body(scope(content_encoding="gzip"), receiver(part(received)), len(received) - 1)
    with pytest.raises(BodyTooLarge, match=r"^The decoded request body .* max_body_mb"):
        await read_body(scope(content_encoding="gzip"), receiver(part(received)), 1000)
    assert (await read_body(scope(content_encoding="gzip"), receiver(part(received)), 1001)).content == b"a" * 1001


async def test_others_go_on_while_a_body_is_decoded():
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.ensure_future(others())
    content = b"\0" * (32 * MB)
    body = await read_body(scope(content_encoding="gzip"), receiver(part(gzip.compress(content))), 32 * MB)
    beside.cancel()
    assert body.content == content
    assert turns > 10


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("size", [SMALL_BYTES, SMALL_BYTES + 1])
async def test_a_body_takes_the_room_of_its_content_unless_it_is_small(coding: str, announced: bool, size: int):
    room = Room(32 * MB)
    content = bytes(size)
    sent = gzip.compress(content) if coding == "gzip" else content
    lengths = {"content_length": str(len(sent))} if announced else {}
    asked = scope(content_encoding=coding, **lengths)
    with room.place() as place:
        await read_body_in_place(asked, receiver(part(sent[:100], more=True), part(sent[100:])), 32 * MB, place)
        taken = place.size
    assert taken == (0 if size == SMALL_BYTES else size)


async def test_nothing_is_read_before_there_is_room_for_it():
    room = Room(2 * MB)
    with room.place() as other, room.place() as place:
        await other.take(2 * MB)
        asked = scope(content_length=str(2 * MB))
        reading = asyncio.ensure_future(read_body_in_place(asked, receiver(), 32 * MB, place))
        await asyncio.sleep(0.01)
        assert not reading.done()
        reading.cancel()


async def test_a_reply_knows_the_hash_of_what_it_sent_and_of_what_it_would():
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    reply = Reply(send)
    assert (reply.started, reply.ended) == (False, False)
    await reply.start(200, [(b"a", b"b")])
    await reply.write(b"one")
    assert reply.sha256_with(b"two") == hashlib.sha256(b"onetwo").hexdigest()
    assert reply.sha256_with() == hashlib.sha256(b"one").hexdigest()
    await reply.write(b"two", last=True)
    assert (reply.started, reply.ended) == (True, True)
    assert [message.get("more_body") for message in sent] == [None, True, False]


async def test_a_client_that_takes_nothing_counts_as_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.gateway.asgi.PATIENCE_SECONDS", 0.02)

    async def never(_: Any) -> None:
        await asyncio.Event().wait()

    with pytest.raises(ClientGone):
        await Reply(never).write(b"one")


async def test_a_whole_answer_has_its_length():
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await Reply(send).whole(200, b"{}", [(b"x-a", b"1")])
    assert dict(sent[0]["headers"]) == {b"content-type": b"application/json", b"content-length": b"2", b"x-a": b"1"}
    assert sent[1] == {"type": "http.response.body", "body": b"{}", "more_body": False}


async def test_the_end_of_a_whole_answer_may_come_later():
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await Reply(send).whole(200, b"{}", last=False)
    assert sent[1] == {"type": "http.response.body", "body": b"{}", "more_body": True}
