from dataclasses import replace

import pytest

from appliance.commands import machines
from tests.admin.played import MACHINE


def test_a_healthy_machine_shows_its_models_and_another_why_it_is_not_used():
    lines = machines.show([MACHINE, replace(MACHINE, name="box", engine="", healthy=False, why="does not answer")])
    assert lines[1].split() == ["127.0.0.1:11434", "ollama", "0.32", "loopback", "healthy", "smollm2:latest"]
    assert lines[2].split() == ["box", "–", "loopback", "unused", "does", "not", "answer"]


@pytest.mark.usefixtures("terminal")
def test_many_models_are_cut_to_the_terminal():
    lines = machines.show([replace(MACHINE, models=tuple(f"model-{n}:70b-instruct" for n in range(20)))])
    assert len(lines[1]) == 80


def test_what_a_machine_calls_its_models_cannot_steer_the_terminal():
    assert "\x1b" not in "".join(machines.show([replace(MACHINE, models=("\x1b[2J",))]))


def test_no_models_and_no_machines():
    assert machines.show([replace(MACHINE, models=())])[1].endswith("no models")
    assert machines.show([]) == ("There is no machine: set local.ollama (docs/settings.md).",)
