"""What the console knows while the daemon lives, dies and comes back. The stream is a script."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest

from appliance.admin import wire
from appliance.admin.client import AdminError, event_wire, node_wire
from tests.waiting import until
from tui.feed import Feed, Picture

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
NODES = node_wire.NodeList((), "id", (), 0)
KEYS = wire.KeyCount(0, 0, 0)
STATUS = wire.Status("0.1.0", 1, "", "local", "http://x/v1", "standard", "ollama", (), (), KEYS, 0, ())


class Script:
    """Streams in the order in which they are opened; each ends by itself or with an error."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[event_wire.Event | AdminError | None] = asyncio.Queue()
        self.opened = 0

    async def events(self) -> AsyncGenerator[event_wire.Event, None]:
        self.opened += 1
        while True:
            match await self.queue.get():
                case None:
                    return
                case AdminError() as error:
                    raise error
                case event:
                    yield event


class Watcher:
    def __init__(self) -> None:
        self.seen: list[Picture] = []
        self.now = NOW

    def changed(self, before: Picture, now: Picture) -> None:
        assert before == (self.seen[-1] if self.seen else Picture())
        self.seen.append(now)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
async def feed(script: Script, watcher: Watcher):
    feed = Feed(script.events, watcher.changed, lambda: watcher.now, wait=0.001)
    running = asyncio.create_task(feed.run())
    yield feed
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_what_is_new_is_taken_and_the_rest_kept(feed: Feed, script: Script):
    script.queue.put_nowait(event_wire.Event(status=STATUS, nodes=NODES, last_change=3))
    script.queue.put_nowait(event_wire.Event(last_change=4))
    await until(lambda: feed.picture.last_change == 4)
    assert (feed.picture.status, feed.picture.nodes, feed.picture.fresh) == (STATUS, NODES, True)


async def test_an_empty_event_changes_nothing_and_tells_nobody(feed: Feed, script: Script, watcher: Watcher):
    script.queue.put_nowait(event_wire.Event(status=STATUS))
    script.queue.put_nowait(event_wire.Event())
    script.queue.put_nowait(event_wire.Event(last_change=1))
    await until(lambda: feed.picture.last_change == 1)
    assert len(watcher.seen) == 2


async def test_a_daemon_that_goes_leaves_what_was_known_stale_and_says_why(
    feed: Feed, script: Script, watcher: Watcher
):
    script.queue.put_nowait(event_wire.Event(status=STATUS))
    script.queue.put_nowait(wire.DaemonDown("The daemon is not running.", advice="Start it."))
    await until(lambda: feed.picture.stale is not None)
    assert feed.picture == Picture(
        status=STATUS, stale=NOW, why="The daemon is not running. Start it.", missing="daemon"
    )
    assert not feed.picture.fresh

    watcher.now = NOW + timedelta(minutes=5)
    script.queue.put_nowait(wire.DaemonDown("The daemon is not running.", advice="Start it."))
    await until(lambda: script.opened >= 3)
    assert feed.picture.stale == NOW  # since when it is stale, not when it was tried last

    script.queue.put_nowait(event_wire.Event(status=STATUS, last_change=9))
    await until(lambda: feed.picture.fresh)
    assert feed.picture == Picture(status=STATUS, last_change=9)


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (wire.DaemonDown("x"), "daemon"),
        (wire.AccessDenied("x"), "access"),
        (AdminError("x"), "answer"),
        (None, "daemon"),
    ],
)
async def test_what_is_missing_is_told_apart(feed: Feed, script: Script, error: AdminError | None, missing: str):
    script.queue.put_nowait(error)
    await until(lambda: feed.picture.stale is not None)
    assert feed.picture.missing == missing
    script.queue.put_nowait(event_wire.Event(status=STATUS))
    await until(lambda: feed.picture.fresh)
    assert feed.picture.missing is None


async def test_a_stream_that_ends_is_a_daemon_that_stopped(feed: Feed, script: Script):
    script.queue.put_nowait(event_wire.Event(status=STATUS))
    script.queue.put_nowait(None)
    await until(lambda: feed.picture.stale is not None)
    assert feed.picture.why == "the daemon has stopped"


async def test_what_the_daemon_itself_cannot_see_is_no_staleness(feed: Feed, script: Script):
    script.queue.put_nowait(event_wire.Event(status=STATUS))
    script.queue.put_nowait(event_wire.Event(problem="The database cannot be read."))
    await until(lambda: feed.picture.problem != "")
    assert feed.picture.fresh
    script.queue.put_nowait(event_wire.Event(problem=""))
    await until(lambda: feed.picture.problem == "")
