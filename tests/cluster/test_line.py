from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.line import Line


def anyone(_: object) -> bool:
    return True


def everyone(line: Line[str]) -> list[str]:
    gone: list[str] = []
    while (one := line.next(anyone)) is not None:
        gone.append(one)
    return gone


def test_callers_in_turn_and_each_ones_oldest_first():
    line: Line[str] = Line(10)
    for one in ("a1", "a2", "a3", "b1", "c1", "c2"):
        line.join(one[0], one)
    assert everyone(line) == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert len(line) == 0


def test_who_was_let_in_before_stands_in_front():
    line: Line[str] = Line(1)
    line.join("a", "a1")
    assert line.full
    line.join("b", "b1", in_front=True)
    assert everyone(line) == ["b1", "a1"]


def test_who_cannot_go_keeps_nobody_behind_from_going():
    line: Line[str] = Line(10)
    for one in ("a1", "a2", "b1"):
        line.join(one[0], one)
    assert line.next(lambda one: one == "a2") == "a2"
    assert line.next(lambda one: one == "zz") is None
    assert everyone(line) == ["b1", "a1"]


def test_leaving():
    line: Line[str] = Line(10)
    line.join("a", "a1")
    line.join("a", "a2", in_front=True)
    assert line.leave("a", "a2")
    assert line.leave("a", "a1")
    assert not line.leave("a", "a1")
    assert len(line) == 0
    assert list(line) == []


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_no_caller_is_served_twice_before_another_who_waits(callers: list[str]):
    line: Line[tuple[str, int]] = Line(100)
    for n, caller in enumerate(callers):
        line.join(caller, (caller, n))
    waiting = Counter(callers)
    served: list[tuple[str, int]] = []
    since: Counter[str] = Counter()
    while (one := line.next(anyone)) is not None:
        served.append(one)
        waiting[one[0]] -= 1
        for other in waiting:
            if other != one[0] and waiting[other]:
                since[other] += 1
                assert since[other] <= 2  # two others, and then it is its turn
        since[one[0]] = 0
    assert sorted(served, key=lambda one: one[1]) == [(caller, n) for n, caller in enumerate(callers)]
    for caller in "abc":
        assert [n for who, n in served if who == caller] == sorted(n for who, n in served if who == caller)
