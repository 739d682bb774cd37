"""That the picture has what machines pull, keeps it while nothing new is told, and knows what broke off."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime

from appliance.admin.client import event_wire, pull_wire, wire
from tests.waiting import until
from tui.feed import Feed, Picture

PULLS = pull_wire.PullList(
    (pull_wire.Pull("pull_1", "qwen3:8b", "desk", "m", "running", "", 1, 9, "2026-11-29T18:57:03.120Z", None),)
)


async def test_pulls_are_kept_until_others_are_told():
    async def events() -> AsyncGenerator[event_wire.Event, None]:
        yield event_wire.Event(pulls=PULLS)
        yield event_wire.Event(last_change=4)
        yield event_wire.Event(pulls=pull_wire.PullList(()))
        await asyncio.Event().wait()

    seen: list[Picture] = []
    feed = Feed(events, lambda _, now: seen.append(now), lambda: datetime(2026, 11, 29, tzinfo=UTC))
    task = asyncio.create_task(feed.run())
    await until(lambda: len(seen) == 3)
    task.cancel()
    assert [(picture.pulls, picture.last_change) for picture in seen] == [
        (PULLS, 0),
        (PULLS, 4),
        (pull_wire.PullList(()), 4),
    ]


STATUS = wire.Status(
    "0.1.0",
    1,
    "2026-11-29T18:00:00Z",
    "local",
    "http://x/v1",
    "standard",
    "ollama",
    (),
    (),
    wire.KeyCount(0, 0, 0),
    0,
    (),
)
OTHERS = pull_wire.PullList((replace(PULLS.pulls[0], id="pull_0", name="llama3.2", state="done"),))
NONE = pull_wire.PullList(())


async def told(*events: event_wire.Event) -> list[Picture]:
    """The pictures after each of these."""

    async def stream() -> AsyncGenerator[event_wire.Event, None]:
        for event in events:
            yield event
        await asyncio.Event().wait()

    seen: list[Picture] = []
    feed = Feed(stream, lambda _, now: seen.append(now), lambda: datetime(2026, 11, 29, tzinfo=UTC))
    task = asyncio.create_task(feed.run())
    await until(lambda: len(seen) == len(events))
    task.cancel()
    return seen


async def test_a_pull_breaks_off_with_its_daemon():
    both = pull_wire.PullList((*PULLS.pulls, *OTHERS.pulls))
    for other in (replace(STATUS, pid=2), replace(STATUS, started="2026-11-29T19:00:00Z")):
        *_, now = await told(
            event_wire.Event(status=STATUS, pulls=both),
            event_wire.Event(status=other, pulls=NONE),
            event_wire.Event(last_change=4),
        )
        assert now.broken_off == PULLS.pulls


async def test_with_the_same_daemon_nothing_breaks_off():
    *_, now = await told(
        event_wire.Event(status=STATUS, pulls=PULLS),
        event_wire.Event(status=replace(STATUS, calls_in_flight=1), pulls=NONE),
    )
    assert now.broken_off == ()


async def test_one_that_is_pulled_again_is_forgotten():
    again = pull_wire.PullList((replace(PULLS.pulls[0], id="pull_2"),))
    *_, broken, now = await told(
        event_wire.Event(status=STATUS, pulls=PULLS),
        event_wire.Event(status=replace(STATUS, pid=2), pulls=NONE),
        event_wire.Event(pulls=again),
    )
    assert (broken.broken_off, now.broken_off) == (PULLS.pulls, ())


async def test_one_of_two_daemons_ago_is_still_known():
    *_, now = await told(
        event_wire.Event(status=STATUS, pulls=PULLS),
        event_wire.Event(status=replace(STATUS, pid=2), pulls=NONE),
        event_wire.Event(status=replace(STATUS, pid=3), pulls=NONE),
    )
    assert now.broken_off == PULLS.pulls
