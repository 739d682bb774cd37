"""What a reader of the stream is told, with a state that the test changes."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace

import pytest

from appliance.admin.event_wire import Event
from appliance.admin.events import Events, Pace
from appliance.admin.node_wire import NodeList
from appliance.admin.pull_wire import Pull, PullList
from appliance.errors import StorageUnavailable

SOON = Pace(look=60, rest=0, alive=3600)
"""Looks only when it is told of a change."""


PULL = Pull("pull_1", "qwen3:8b", "desk", "m", "running", "pulling manifest", 0, 0, "2026-11-29T18:57:03.120Z", None)


class State:
    def __init__(self) -> None:
        self.now = Event(nodes=NodeList((), "id", (), 0), last_change=1, problem="")
        self.broken = False
        self.looks = 0

    async def look(self) -> Event:
        self.looks += 1
        if self.broken:
            raise StorageUnavailable("The database cannot be read.", advice="Free disk space.")
        return self.now


@pytest.fixture
def state() -> State:
    return State()


async def test_first_everything_then_what_is_different(state: State):
    events = Events(state.look, SOON)
    async with aclosing(events.stream()) as stream:
        assert await anext(stream) == Event(nodes=state.now.nodes, last_change=1)
        state.now = Event(nodes=state.now.nodes, last_change=2, problem="")
        events.changed()
        assert await anext(stream) == Event(last_change=2)
        state.now = Event(nodes=NodeList((), "id", (), 3), last_change=2, problem="")
        events.changed()
        assert await anext(stream) == Event(nodes=state.now.nodes)


async def test_what_is_pulled_is_told_as_it_goes_and_only_while_it_does(state: State):
    events = Events(state.look, SOON)
    state.now = replace(state.now, pulls=PullList(()))
    async with aclosing(events.stream()) as stream:
        assert (await anext(stream)).pulls == PullList(())
        for completed in (0, 5, 9):
            state.now = replace(state.now, pulls=PullList((replace(PULL, completed=completed, total=9),)))
            events.changed()
            assert await anext(stream) == Event(pulls=state.now.pulls)
        state.now = replace(state.now, last_change=2)
        events.changed()
        assert await anext(stream) == Event(last_change=2)
        state.broken = True
        events.changed()
        assert (await anext(stream)).pulls is None
        state.broken = False
        events.changed()
        assert await anext(stream) == Event(problem="")


async def test_a_pull_is_told_of_once_a_look_however_fast_it_goes(state: State):
    async def look() -> Event:
        seen = await state.look()
        return replace(seen, pulls=PullList((replace(PULL, completed=state.looks, total=99),)))

    pace, began = Pace(look=0.05, rest=0, alive=3600), time.monotonic()
    async with aclosing(Events(look, pace).stream()) as stream:
        events = [await anext(stream) for _ in range(4)]
    assert [event.pulls.pulls[0].completed for event in events if event.pulls] == [1, 2, 3, 4]
    assert time.monotonic() - began >= 3 * pace.look


async def test_a_change_that_nobody_told_of_is_seen_at_the_next_look(state: State):
    async with aclosing(Events(state.look, Pace(look=0.01, rest=0, alive=3600)).stream()) as stream:
        await anext(stream)
        state.now = Event(nodes=state.now.nodes, last_change=9, problem="")
        assert await anext(stream) == Event(last_change=9)


async def test_a_slow_reader_misses_what_came_and_went_and_nothing_that_is(state: State):
    events = Events(state.look, SOON)
    async with aclosing(events.stream()) as stream:
        await anext(stream)
        for number in range(2, 100):
            state.now = Event(nodes=state.now.nodes, last_change=number, problem="")
            events.changed()
        assert await anext(stream) == Event(last_change=99)


async def test_what_cannot_be_seen_is_said_and_what_was_known_is_kept(state: State):
    events = Events(state.look, SOON)
    async with aclosing(events.stream()) as stream:
        await anext(stream)
        state.broken = True
        events.changed()
        assert await anext(stream) == Event(problem="The database cannot be read. Free disk space.")
        state.broken = False
        events.changed()
        assert await anext(stream) == Event(problem="")


async def test_an_empty_event_says_that_the_daemon_lives(state: State):
    async with aclosing(Events(state.look, Pace(look=0.01, rest=0, alive=0.03)).stream()) as stream:
        await anext(stream)
        looks = state.looks
        assert await anext(stream) == Event()
        assert state.looks - looks >= 3


async def test_it_looks_only_while_somebody_reads(state: State):
    events = Events(state.look, Pace(look=0.001, rest=0, alive=3600))
    async with aclosing(events.stream()) as stream:
        await anext(stream)
    looks = state.looks
    await asyncio.sleep(0.05)  # fifty looks, were there any
    assert state.looks == looks


async def test_every_stream_ends_when_it_is_closed_and_none_begins(state: State):
    events = Events(state.look, SOON)
    streams = [events.stream() for _ in range(3)]
    for stream in streams:
        await anext(stream)
    events.close()
    for stream in (*streams, events.stream()):
        assert [event async for event in stream] == []
