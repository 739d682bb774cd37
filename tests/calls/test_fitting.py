"""Which machines have room for a prompt. Source: cluster.md, "Choosing a machine"."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.fitting import Fitting
from appliance.cluster.contexts import Contexts
from appliance.cluster.machine import Machine
from appliance.errors import ContextLengthExceeded
from tests.cluster.machines import machine


def loaded(name: str, context: int, model: str = "m") -> Machine:
    """A machine whose one model is loaded with so much context; 0 is one that does not say."""
    made = replace(machine(name, models=(model,)), loaded={model: context})
    return made if context else replace(made, kind="openai-compatible")


SMALL, LARGE, UNKNOWN = loaded("small", 4096), loaded("large", 16_384), loaded("unknown", 0)


def fitting(estimate: int, turns: int = 1) -> Fitting:
    return Fitting(Contexts(), "m", estimate=estimate, turns=turns)


def fit(asked: Fitting, *machines: Machine) -> list[str]:
    asked.look(machines)
    return [one.name for one in machines if asked.fits(one)]


@pytest.mark.parametrize(
    ("estimate", "machines", "who"),
    [
        (100, (SMALL, LARGE, UNKNOWN), ["small", "large", "unknown"]),
        (4096, (SMALL, LARGE), ["small", "large"]),
        (4097, (SMALL, LARGE), ["large"]),
        (4097, (SMALL,), ["small"]),  # an estimate can be twice too high: the machine says whether it fits
        (8192, (SMALL,), ["small"]),
        (8193, (SMALL,), []),
        (20_000, (SMALL, LARGE), ["large"]),
        (5000, (SMALL, UNKNOWN), ["unknown"]),
        (100, (SMALL, loaded("other", 16_384, "other")), ["small"]),
    ],
)
def test_who_has_room_by_the_estimate(estimate: int, machines: tuple[Machine, ...], who: list[str]):
    assert fit(fitting(estimate), *machines) == who


def test_a_machine_that_cannot_be_asked_now_does_not_keep_the_others_from_a_try():
    """The large one drains, or has failed this call, or is kept from sensitive ones."""
    asked = fitting(5000)
    assert fit(asked, SMALL, LARGE) == ["large"]
    assert fit(asked, SMALL) == ["small"]


def test_who_has_refused_and_all_with_as_little_are_not_asked_again():
    asked = fitting(3000)
    asked.refused_at(4096)
    assert fit(asked, SMALL, LARGE, loaded("twin", 4096), UNKNOWN) == ["large", "unknown"]
    assert (asked.larger([SMALL]), asked.larger([SMALL, LARGE]), asked.larger([UNKNOWN])) == (False, True, True)
    asked.refused_at(2048)  # the highest counts
    assert fit(asked, SMALL) == []
    assert not asked.larger([replace(LARGE, healthy=False)])


@pytest.mark.parametrize(("estimate", "turns"), [(40_000, 1), (10, 8193)])
def test_what_no_machine_can_have_room_for_is_refused_unsent(estimate: int, turns: int):
    with pytest.raises(ContextLengthExceeded) as refused:
        fitting(estimate, turns).check([SMALL, LARGE])
    assert (refused.value.maximum, refused.value.param) == (16_384, "messages")
    assert (refused.value.tokens or 0) > 16_384
    assert "maximum context length is 16384 tokens" in refused.value.message
    assert refused.value.advice


def test_what_one_may_have_room_for_is_not_refused():
    fitting(32_768).check([SMALL, LARGE])
    fitting(900_000).check([SMALL, UNKNOWN])
    fitting(900_000).check([])  # nobody has the model: that is another error
    fitting(900_000).check([replace(SMALL, healthy=False)])


@given(
    estimate=st.integers(0, 100_000),
    turns=st.integers(1, 10_000),
    contexts=st.lists(st.integers(0, 50_000), min_size=1, max_size=5),
    refused=st.none() | st.integers(0, 50_000),
)
def test_a_prompt_that_is_not_refused_has_somebody_to_ask(
    estimate: int, turns: int, contexts: list[int], refused: int | None
):
    machines = [loaded(str(i), context) for i, context in enumerate(contexts)]
    asked = fitting(estimate, turns)
    try:
        asked.check(machines)
    except ContextLengthExceeded:
        assert fit(asked, *machines) == []
        return
    assert fit(asked, *machines)
    if refused is not None:
        asked.refused_at(refused)
        assert bool(fit(asked, *machines)) == asked.larger(machines)
