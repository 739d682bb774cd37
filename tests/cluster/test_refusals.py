from dataclasses import replace

import pytest

from appliance.cluster.choice import Wanted
from appliance.cluster.machine import Machine
from appliance.cluster.refusals import line_is_full, nobody, waited_too_long
from appliance.errors import ModelAbsent
from tests.cluster.machines import machine


@pytest.mark.parametrize(
    ("machines", "wanted", "message", "advice"),
    [
        ([machine("a", models=("other",))], Wanted("m"), "has the model 'm'", "ollama pull m"),
        ([], Wanted("m"), "No machine that runs models", "synapse node list"),
        ([machine("a", healthy=False)], Wanted("m"), "No machine that runs models", "synapse node list"),
        (
            [machine("big", healthy=False), machine("small", models=("other",))],
            Wanted("m"),
            "that has the model 'm' is reachable",
            "Try again",
        ),
        ([machine("a")], Wanted("m", known_only=True), "sensitive calls", "sensitive-on-open"),
        ([replace(machine("a"), draining=True)], Wanted("m"), "no more calls", "node resume"),
        ([machine("a")], Wanted("m", tried=frozenset({"a"})), "No other machine", "Try again"),
    ],
)
def test_the_refusal_says_why_and_what_to_do(machines: list[Machine], wanted: Wanted, message: str, advice: str):
    refusal = nobody(machines, wanted)
    assert message in refusal.message
    assert advice in refusal.advice


def test_only_what_nobody_has_is_not_worth_another_try():
    assert isinstance(nobody([machine("a", models=("other",))], Wanted("m")), ModelAbsent)
    down = [machine("big", healthy=False), machine("small", models=("other",))]
    assert not isinstance(nobody(down, Wanted("m")), ModelAbsent)


def test_who_cannot_wait_is_told_when_to_come_again():
    assert line_is_full(64).retry_after
    assert waited_too_long(30).retry_after
    assert "30 s" in waited_too_long(30).message
