import argparse
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.arguments import parser
from appliance.commands.registry import COMMANDS, Invocation
from appliance.engine import main as engine
from appliance.engine.main import EngineOptions


def leaves(of: argparse.ArgumentParser) -> list[str]:
    groups = [action for action in of._actions if isinstance(action, argparse._SubParsersAction)]
    own = [of.get_default("command")] if of.get_default("command") else []
    return [*own, *(name for group in groups for inner in group.choices.values() for name in leaves(inner))]


def test_every_command_that_can_be_typed_does_something():
    assert sorted(leaves(parser())) == sorted(COMMANDS)


def test_the_commands_of_the_design_are_there():
    # operations.md, "Commands", as far as this version goes.
    assert {
        "serve",
        "engine",
        "status",
        "version",
        *(f"key {verb}" for verb in ("create", "list", "revoke")),
        *(f"workspace {verb}" for verb in ("create", "list")),
        *(f"user {verb}" for verb in ("create", "list")),
        *(f"model {verb}" for verb in ("list", "pull", "set")),
        *(f"provider {verb}" for verb in ("add", "list", "test", "remove")),
        *(f"policy {verb}" for verb in ("show", "allow", "clear", "active", "unscannable", "sensitive-on-open")),
        *(f"proof {verb}" for verb in ("list", "show", "keys", "verify")),
    } <= set(COMMANDS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("engine", EngineOptions(Path("/var/lib/synapse"))),
        ("engine --state d --port 0", EngineOptions(Path("d"), port=0)),
        (
            "engine --model a --embedding-model b --host ::1 --threads 2 --slots 3 --context 99",
            EngineOptions(
                Path("/var/lib/synapse"),
                host="::1",
                model=Path("a"),
                embedding_model=Path("b"),
                threads=2,
                slots=3,
                context=99,
            ),
        ),
    ],
)
def test_the_engine_is_run_with_what_was_typed(monkeypatch: pytest.MonkeyPatch, line: str, expected: EngineOptions):
    ran: list[EngineOptions] = []

    def run(options: EngineOptions) -> int:
        ran.append(options)
        return 7

    monkeypatch.setattr(engine, "run", run)
    typed = parser().parse_args(line.split())
    outcome = COMMANDS["engine"](
        Invocation(typed, {"SYNAPSE_STATE_DIR": "/var/lib/synapse"}, lambda: datetime.now(UTC))
    )
    assert (outcome.code, ran) == (7, [expected])
