from dataclasses import replace

import pytest

from appliance.admin.client import pull_wire, wire
from tui.screens import model_lines

DESK = wire.Machine(
    "m1", "desk", "http://127.0.0.1:11434", "ollama/0.32", "loopback", True, ("qwen3:8b", "nomic:latest")
)
ATTIC = wire.Machine("m2", "attic", "http://192.168.1.30:11434", "", "open", False, ("qwen3:8b",), "no connection")
FULL = wire.RoleModel("full", None, "qwen3:8b", None, True)
FAST = wire.RoleModel("fast", None, "qwen3:8b", "full", True)
EMBEDDING = wire.RoleModel("embedding", "nomic", "nomic", None, True)
FOUND = wire.ModelList((FULL, FAST, EMBEDDING), (DESK, ATTIC))
PULL = pull_wire.Pull(
    "pull_1", "llama3.2", "desk", "m1", "running", "pulling 2bada8a74506", 2_100_000_000, 5_000_000_000,
    "2026-11-29T18:57:03.120Z", None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("role", "said"),
    [
        (FULL, "✓ not set: the largest there is"),
        (FAST, "✓ as full"),
        (EMBEDDING, "✓ set"),
        (replace(FULL, configured="x", available=False), "✗ set: no healthy machine has it"),
        (replace(FAST, available=False), "✗ as full: no healthy machine has it"),
        (replace(FULL, available=False), "✗ not set: no healthy machine has it"),
        (replace(FULL, effective=None, available=False), "– not set: no machine has a model"),
        (wire.RoleModel("embedding", None, None, None, False), "– not set"),
    ],
)
def test_why_a_role_has_its_model(role: wire.RoleModel, said: str):
    assert model_lines.because(role)[0] == said
    assert len(said) <= 36  # or it does not fit beside the model in 80 columns


def test_the_roles_and_what_is_refused_meanwhile():
    lines = model_lines.roles(FOUND).plain.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["full", "qwen3:8b"],
        ["fast", "qwen3:8b"],
        ["embedding", "nomic"],
    ]
    gone = replace(FULL, configured="big\x1b", effective="big\x1b", available=False)
    said = model_lines.roles(replace(FOUND, roles=(gone,))).plain
    assert said.endswith("Calls for full are refused until a machine has big\\x1b: p gets it, u unsets it.")
    assert all(len(line) <= 80 for line in said.splitlines())


def test_what_is_on_its_way_is_first_and_what_came_last():
    done = replace(PULL, id="pull_0", state="done", ended="2026-11-29T18:58:00.000Z")
    told = model_lines.rows(FOUND, (done, PULL))
    assert [row.id for row in told] == ["pull_1", "m1/qwen3:8b", "m1/nomic:latest", "m2/qwen3:8b", "pull_0"]
    assert told[0].cells == ("llama3.2", "desk", "◐ running", "42 %  2.1 GB of 5.0 GB  pulling 2bada8a74506")
    assert told[1].cells == ("qwen3:8b", "desk", "● ready", "full, fast")
    assert told[2].cells == ("nomic:latest", "desk", "● ready", "embedding")
    assert told[3].cells == ("qwen3:8b", "attic", "✗ not ready", "no connection")
    assert told[4].cells == ("llama3.2", "desk", "✓ done", "5.0 GB, 11-29 18:58")


@pytest.mark.parametrize(
    ("pull", "said"),
    [
        (replace(PULL, completed=0, total=0), "pulling 2bada8a74506"),
        (replace(PULL, completed=0, total=0, status=""), "it begins"),
        (replace(PULL, state="failed", problem="The disk is full.", advice="Free it."), "The disk is full. Free it."),
        (replace(PULL, state="cancelled", ended="2026-11-29T18:58:00.000Z"), "42 %  2.1 GB of 5.0 GB"),
        (replace(PULL, state="cancelled", total=0, ended="2026-11-29T18:58:00.000Z"), "11-29 18:58"),
    ],
)
def test_how_a_pull_goes(pull: pull_wire.Pull, said: str):
    assert model_lines.pull_row(pull).cells[-1] == said


def test_a_machine_without_a_model_is_there_too():
    (row,) = model_lines.rows(replace(FOUND, machines=(replace(DESK, models=()),)), ())
    assert row.cells == ("–", "desk", "● ready", "no model yet: p gets one")


def test_details():
    text = "\n".join(model_lines.model_details(FOUND, ATTIC, "qwen3:8b"))
    for said in ("qwen3:8b", "full, fast", "attic", "✗ not ready", "no connection", "open", ATTIC.url):
        assert said in text
    failed = replace(PULL, state="failed", problem="The disk is full.", advice="Free it.", ended=PULL.started)
    text = "\n".join(model_lines.pull_details(failed))
    for said in ("llama3.2", "✗ failed", "42 %", "pull_1", "The disk is full.", "Free it.", "2026-11-29 18:57Z"):
        assert said in text


def test_one_model_by_two_names_is_one():
    both = replace(FOUND, machines=(DESK, replace(ATTIC, models=("nomic",))))
    assert {name: len(machines) for name, machines in model_lines.names(both).items()} == {"nomic": 2, "qwen3:8b": 1}
