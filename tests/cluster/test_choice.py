from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.choice import Load, Wanted, able, choose, obstacle
from tests.cluster.machines import first, machine


def test_fewest_in_flight_first():
    loads = [Load(machine("a"), 2), Load(machine("b"), 1), Load(machine("c"), 3)]
    assert choose(loads, Wanted("m"), tie=first) == machine("b")


def test_at_a_tie_the_machine_that_has_the_model_loaded():
    loads = [Load(machine("cold"), 1), Load(machine("warm", loaded=("m",)), 1)]
    chosen = choose(loads, Wanted("m:latest"), tie=first)
    assert chosen is not None
    assert chosen.name == "warm"


def test_then_the_one_that_was_the_quickest_to_begin_and_one_of_which_nothing_is_known_before_it():
    slow, quick = Load(machine("slow"), first_token={"m": 2.0}), Load(machine("quick"), first_token={"m": 0.2})
    assert choose([slow, quick], Wanted("m:latest"), tie=first) == quick.machine
    other = Load(machine("other"), first_token={"another": 9.0})
    assert choose([slow, quick, other], Wanted("m"), tie=first) == other.machine


def test_only_a_machine_that_can_serve_the_call():
    well = machine("a")
    assert obstacle(well, Wanted("m")) is None
    assert obstacle(well, Wanted("m", tried=frozenset({"a"}))) == "tried"
    assert obstacle(machine("a", healthy=False), Wanted("m")) == "unhealthy"
    assert obstacle(replace(well, draining=True), Wanted("m")) == "draining"
    assert obstacle(well, Wanted("other")) == "no model"
    assert obstacle(well, Wanted("m", known_only=True)) == "open"
    assert obstacle(replace(well, trust="pinned"), Wanted("m", known_only=True)) is None
    assert obstacle(replace(well, trust="loopback"), Wanted("m", known_only=True)) is None
    assert obstacle(well, Wanted("m", fits=lambda _: False)) == "too small"


def test_a_machine_gets_no_more_calls_than_it_has_slots_nor_any_while_it_is_asked_how_it_is():
    full = Load(replace(machine("full"), slots=2), 2)
    suspect = Load(replace(machine("suspect"), suspect=True))
    assert choose([full, suspect], Wanted("m"), tie=first) is None
    assert able([full, suspect], Wanted("m")) == [full, suspect]
    assert choose([full, suspect, Load(machine("busy"), 3)], Wanted("m"), tie=first) == machine("busy")


def test_a_machine_that_fails_is_left_out_while_there_is_another_though_that_one_is_full():
    failing, full = Load(machine("failing"), breaker="open"), Load(machine("full"), 4)
    assert choose([failing, full], Wanted("m"), tie=first) is None
    assert able([failing, full], Wanted("m")) == [full]


def test_where_there_is_no_other_it_gets_one_call_at_a_time():
    assert choose([Load(machine("only"), breaker="open")], Wanted("m"), tie=first) == machine("only")
    trying = Load(machine("only"), 1, breaker="open", trying=True)
    assert choose([trying], Wanted("m"), tie=first) is None
    assert able([trying], Wanted("m")) == [trying]


def test_after_its_rest_it_gets_one_call_beside_the_others():
    resting, busy = Load(machine("resting"), breaker="half-open"), Load(machine("busy"), 1)
    assert choose([resting, busy], Wanted("m"), tie=first) == machine("resting")
    assert choose([replace(resting, trying=True), busy], Wanted("m"), tie=first) == machine("busy")


rows = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["closed", "open", "half-open"]),
        st.booleans(),
    ),
    max_size=6,
)


@given(rows)
def test_the_choice_is_always_the_best_there_is(rows: list[tuple]):
    loads = [
        Load(
            machine(f"n{i}", models=("m",) if has else (), healthy=well, loaded=("m",) if warm else ()),
            busy,
            breaker,
            trying,
        )
        for i, (busy, well, has, warm, breaker, trying) in enumerate(rows)
    ]
    fit = [load for load in loads if load.machine.healthy and load.machine.has("m")]
    whole = [load for load in fit if load.breaker == "closed" or (load.breaker == "half-open" and not load.trying)]
    free = [
        load
        for load in whole or fit
        if load.in_flight < load.machine.slots and not (load.breaker != "closed" and load.trying)
    ]
    chosen = choose(loads, Wanted("m"), tie=first)
    assert (chosen is None) == (not free)
    if chosen is not None:
        best = next(load for load in free if load.machine == chosen)
        assert (best.in_flight, "m" not in best.machine.loaded) == min(
            (load.in_flight, "m" not in load.machine.loaded) for load in free
        )
