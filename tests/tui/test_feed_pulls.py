"""That the picture has what machines pull, and keeps it while nothing new is told."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

from appliance.admin.client import event_wire, pull_wire
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
