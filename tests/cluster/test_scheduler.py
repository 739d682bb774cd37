import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.machine import Machine, Model
from appliance.cluster.scheduler import Load, Scheduler, choose
from appliance.errors import LocalLaneUnavailable, ModelAbsent


def machine(
    name: str, *, models: tuple[str, ...] = ("m",), healthy: bool = True, loaded: tuple[str, ...] = ()
) -> Machine:
    listed = tuple(Model(one, "d", 1, frozenset({"completion"}), remote=False) for one in models)
    return Machine(name, name, f"http://{name}", "open", "ollama/1", healthy, "", listed, dict.fromkeys(loaded, 4096))


def first() -> float:
    return 0.0


def test_fewest_in_flight_first():
    loads = [Load(machine("a"), 2), Load(machine("b"), 1), Load(machine("c"), 3)]
    assert choose(loads, "m", tie=first) == machine("b")


def test_at_a_tie_the_machine_that_has_the_model_loaded():
    loads = [Load(machine("cold"), 1), Load(machine("warm", loaded=("m",)), 1)]
    chosen = choose(loads, "m:latest", tie=first)
    assert chosen is not None
    assert chosen.name == "warm"


def test_only_healthy_machines_with_the_model():
    assert (
        choose([Load(machine("a", healthy=False), 0), Load(machine("b", models=("other",)), 0)], "m", tie=first) is None
    )


loads = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans(), st.booleans()), max_size=6)


@given(loads)
def test_the_choice_is_always_the_best_there_is(rows: list[tuple[int, bool, bool, bool]]):
    made = [
        Load(machine(f"n{i}", models=("m",) if has else (), healthy=well, loaded=("m",) if warm else ()), busy)
        for i, (busy, well, has, warm) in enumerate(rows)
    ]
    fit = [load for load, (_, well, has, _) in zip(made, rows, strict=True) if well and has]
    chosen = choose(made, "m", tie=first)
    assert (chosen is None) == (not fit)
    if chosen is not None:
        assert next(load.in_flight for load in fit if load.machine == chosen) == min(load.in_flight for load in fit)


async def test_calls_spread_and_leave_no_slot_behind():
    scheduler = Scheduler(lambda: (machine("a"), machine("b")))
    go = asyncio.Event()

    async def call() -> str:
        async with scheduler.lease("m") as found:
            await go.wait()
            return found.id

    calls = [asyncio.ensure_future(call()) for _ in range(10)]
    await asyncio.sleep(0)
    assert (scheduler.in_flight("a"), scheduler.in_flight("b")) == (5, 5)
    calls[0].cancel()
    go.set()
    await asyncio.gather(*calls, return_exceptions=True)
    assert (scheduler.in_flight("a"), scheduler.in_flight("b")) == (0, 0)


async def test_machines_that_were_tried_are_left_out():
    scheduler = Scheduler(lambda: (machine("a"), machine("b")))
    async with scheduler.lease("m", tried=frozenset({"a"})) as found:
        assert found.id == "b"
    with pytest.raises(LocalLaneUnavailable):
        async with scheduler.lease("m", tried=frozenset({"a", "b"})):
            pass


async def test_a_machine_that_is_only_down_may_come_back():
    scheduler = Scheduler(lambda: (machine("big", healthy=False), machine("small", models=("other",))))
    with pytest.raises(LocalLaneUnavailable, match="is reachable") as refused:
        async with scheduler.lease("m"):
            pass
    assert not isinstance(refused.value, ModelAbsent)


async def test_the_refusal_says_what_to_do():
    absent = Scheduler(lambda: (machine("a", models=("other",)),))
    with pytest.raises(ModelAbsent, match="ollama pull m"):
        async with absent.lease("m"):
            pass
    down = Scheduler(lambda: (machine("a", healthy=False),))
    with pytest.raises(LocalLaneUnavailable, match="synapse status"):
        async with down.lease("m"):
            pass
