"""What both lanes to servers that stream events have in common; each lane's own tests run it with its own words."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from appliance.cluster.connections import open_session
from appliance.dialects.chat import Finish, TextDelta, Usage
from appliance.dialects.openai.refusals import refusal
from appliance.dialects.openai.stream import Reader
from appliance.dialects.upstream import Outgoing, ProviderError
from appliance.errors import UpstreamFailed
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.exchange import Patience, error_body, events, post
from appliance.lanes.limits import MAX_ERROR_BYTES, Limit, running
from tests.upstreams import openai as wire
from tests.upstreams.openai import OpenAIDouble, Step, openai_double

OUTGOING = Outgoing("/chat/completions", {"X-Own": "body's"}, b"{}", lambda: Reader(lambda: "call"), refusal)


class Words:
    """Failures that say no more than which they are."""

    def passed(self, limit: Limit) -> AttemptFailed:
        return self._failed(f"passed {limit.name}")

    def told(self, error: ProviderError) -> AttemptFailed:
        return self._failed(f"told {error.kind}")

    def died(self, how: str, *, severed: bool = False) -> AttemptFailed:
        return self._failed(f"died: {how}")

    def unfinished(self, content_type: str) -> AttemptFailed:
        return self._failed(f"unfinished {content_type}")

    def _failed(self, what: str) -> AttemptFailed:
        return AttemptFailed(UpstreamFailed(what), elsewhere=True)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as session:
        yield session


@pytest.fixture
async def double() -> AsyncIterator[OpenAIDouble]:
    async with openai_double() as double:
        yield double


async def sent(session: aiohttp.ClientSession, double: OpenAIDouble, *steps: Step) -> aiohttp.ClientResponse:
    double.scripts.append(wire.says(*steps))
    headers = {"Authorization": "Bearer k"}
    return await post(session, double.url + OUTGOING.path, OUTGOING, headers, limit=running("first_byte", 5), connect=2)


async def read(response: aiohttp.ClientResponse, *, idle: float = 5, counts: float = 5, most: int = 10_000):
    """The events, or how it failed."""
    patience = Patience(running("first_byte", 5), running("total", 10), idle, counts, most)
    try:
        return [event async for event in events(response, Reader(lambda: "call"), patience, Words())]
    except AttemptFailed as failed:
        return failed.error.message
    finally:
        response.release()


async def test_what_goes_out(session: aiohttp.ClientSession, double: OpenAIDouble):
    assert await read(await sent(session, double, wire.finish(), wire.usage())) == [Finish("stop", Usage(7, 3))]
    (got,) = double.received
    assert (got.body, got.header("X-Own"), got.header("Authorization")) == (b"{}", "body's", "Bearer k")
    assert (got.header("Content-Type"), got.header("Accept")) == ("application/json", "text/event-stream")


@pytest.mark.parametrize(
    ("steps", "failed"),
    [
        ((wire.text("a"),), "unfinished text/event-stream"),
        ((wire.text("a"), "die"), "died: the connection broke"),
        ((wire.text("a"), b"data: x\n\n"), "told failed"),
        ((wire.text("a"), 5.0), "passed idle"),
        ((wire.text("a"), wire.text("b" * 20_000)), "died: its answer has no end"),
    ],
)
async def test_each_failure_is_told_in_the_words_of_the_lane(
    session: aiohttp.ClientSession, double: OpenAIDouble, steps: tuple[Step, ...], failed: str
):
    assert await read(await sent(session, double, *steps), idle=0.05 if 5.0 in steps else 5) == failed


async def test_counts_behind_the_end_have_a_patience_of_their_own(session: aiohttp.ClientSession, double: OpenAIDouble):
    response = await sent(session, double, wire.text("a"), wire.finish(), asyncio.Event())
    assert await read(response, counts=0.05) == [TextDelta("a"), Finish("stop", Usage(0, 1))]


async def test_a_limit_that_fires_before_the_answer_is_a_plain_timeout(
    session: aiohttp.ClientSession, double: OpenAIDouble
):
    async def silent(_: object):
        await asyncio.Event().wait()
        raise AssertionError

    double.scripts.append(silent)
    with pytest.raises(TimeoutError) as fired:
        await post(session, double.url + OUTGOING.path, OUTGOING, {}, limit=running("total", 0.05), connect=2)
    assert not isinstance(fired.value, aiohttp.ClientError)


@pytest.mark.parametrize(
    ("steps", "body"),
    [
        ((b"no", b"pe"), b"nope"),
        ((b"no", "die"), b"no"),
        ((b"no", 5.0), b"no"),
        ((b"x" * (MAX_ERROR_BYTES + 1),), b"x" * MAX_ERROR_BYTES),
    ],
)
async def test_an_error_s_body_is_what_there_is_of_it(
    session: aiohttp.ClientSession, double: OpenAIDouble, steps: tuple[Step, ...], body: bytes
):
    response = await sent(session, double, *steps)
    limit = running("idle", 0.1 if 5.0 in steps else 5)
    assert await error_body(response, limit, Words()) == body
    response.release()
