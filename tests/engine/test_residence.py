"""How long a model stays in memory, with a runner that only pretends. Source: Ollama's `keep_alive`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from appliance.engine.clock import NANO, Clock
from appliance.engine.residence import DEFAULT_KEEP_ALIVE, Residence
from appliance.errors import EngineError
from tests.waiting import until


@dataclass
class PlayedRunner:
    alive: bool = False
    starts: int = 0
    starting: int = 0
    most_starting: int = 0
    broken: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def start(self) -> None:
        self.starting += 1
        self.most_starting = max(self.most_starting, self.starting)
        try:
            await self.gate.wait()
        finally:
            self.starting -= 1
        if self.broken:
            raise EngineError("no memory")
        if not self.alive:
            self.starts += 1
            self.alive = True

    async def stop(self) -> None:
        self.alive = False


@dataclass
class HandClock:
    """A clock that moves when told."""

    seconds: float = 1000.0

    @property
    def clock(self) -> Clock:
        return Clock(lambda: 0, lambda: int(self.seconds * NANO))


@pytest.fixture
def runner() -> PlayedRunner:
    return PlayedRunner()


@pytest.fixture
def hand() -> HandClock:
    return HandClock()


@pytest.fixture
def residence(runner: PlayedRunner, hand: HandClock) -> Residence:
    return Residence(runner, clock=hand.clock)


@contextlib.asynccontextmanager
async def watched(residence: Residence) -> AsyncIterator[None]:
    watch = asyncio.create_task(residence.watch())
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.wait([watch])


async def test_five_minutes_from_the_end_of_the_last_request(
    runner: PlayedRunner, residence: Residence, hand: HandClock
):
    assert residence.seconds_left is None
    async with residence.hold(None):
        hand.seconds += 1000
        assert residence.seconds_left == DEFAULT_KEEP_ALIVE
    assert residence.seconds_left == DEFAULT_KEEP_ALIVE
    hand.seconds += 299
    assert residence.seconds_left == 1
    hand.seconds += 2
    assert residence.seconds_left == 0
    assert runner.starts == 1


async def test_the_last_keep_alive_that_was_given_holds_on_until_the_model_leaves(
    runner: PlayedRunner, residence: Residence
):
    async with residence.hold(30):
        pass
    async with residence.hold(None):
        pass
    assert residence.seconds_left == 30
    await runner.stop()
    async with residence.hold(None):
        pass
    assert residence.seconds_left == DEFAULT_KEEP_ALIVE


async def test_an_idle_model_leaves_when_its_time_has_come(runner: PlayedRunner):
    residence = Residence(runner, clock=Clock())
    async with watched(residence):
        async with residence.hold(0.05):
            await asyncio.sleep(0.1)
            assert runner.alive
        await until(lambda: not runner.alive)


async def test_keep_alive_zero_unloads_after_the_last_of_several_requests(runner: PlayedRunner):
    residence = Residence(runner, clock=Clock())
    async with watched(residence):
        async with residence.hold(0):
            async with residence.hold(0):
                pass
            await asyncio.sleep(0.02)
            assert runner.alive
        await until(lambda: not runner.alive)


async def test_unload_at_once_if_idle(runner: PlayedRunner, residence: Residence):
    async with residence.hold(None):
        pass
    await residence.unload()
    assert not runner.alive
    assert residence.seconds_left is None


async def test_unload_waits_for_requests_in_flight(runner: PlayedRunner, residence: Residence):
    async with watched(residence):
        async with residence.hold(None):
            await residence.unload()
            assert runner.alive
        await until(lambda: not runner.alive)


async def test_unload_without_a_model_in_memory_does_not_shorten_the_next_stay(
    runner: PlayedRunner, residence: Residence
):
    await residence.unload()
    async with residence.hold(None):
        pass
    assert residence.seconds_left == DEFAULT_KEEP_ALIVE


async def test_one_start_at_a_time(runner: PlayedRunner, residence: Residence):
    runner.gate.clear()

    async def use() -> None:
        async with residence.hold(None):
            pass

    users = [asyncio.create_task(use()) for _ in range(5)]
    await until(lambda: runner.starting > 0)
    runner.gate.set()
    await asyncio.gather(*users)
    assert (runner.starts, runner.most_starting) == (1, 1)


async def test_a_start_that_fails_or_is_left_counts_nobody(runner: PlayedRunner, residence: Residence):
    runner.broken = True
    with pytest.raises(EngineError, match="no memory"):
        async with residence.hold(None):
            pass
    runner.broken = False
    runner.gate.clear()
    leaver = asyncio.create_task(residence.hold(None).__aenter__())
    await until(lambda: runner.starting == 1)
    leaver.cancel()
    await asyncio.wait([leaver])
    runner.gate.set()
    async with residence.hold(None):
        pass
    await residence.unload()
    assert not runner.alive


async def test_a_runner_that_died_is_started_again(runner: PlayedRunner, residence: Residence):
    async with residence.hold(None):
        runner.alive = False
    assert residence.seconds_left is None
    async with residence.hold(None):
        assert runner.alive
    assert runner.starts == 2


async def test_close_ends_it_whatever_runs(runner: PlayedRunner, residence: Residence):
    async with residence.hold(None):
        await residence.close()
        assert not runner.alive
