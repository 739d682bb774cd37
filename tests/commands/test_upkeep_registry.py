from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.arguments import parser
from appliance.commands.invocation import Invocation
from appliance.commands.registry import COMMANDS
from appliance.commands.upkeep_registry import UPKEEP_COMMANDS
from appliance.errors import StateError


def test_they_are_among_all_commands():
    assert set(UPKEEP_COMMANDS) == {"backup", "restore", "doctor", "completion"}
    assert {name: COMMANDS[name] for name in UPKEEP_COMMANDS} == UPKEEP_COMMANDS


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("backup {0}/none/x --passphrase-file {0}/pass", "There is no directory"),
        ("backup {0}/x --passphrase-file {0}/pass", "There is no state directory"),
        ("restore {0}/x --passphrase-file {0}/pass", "cannot be read"),
    ],
)
def test_each_is_called_with_what_was_typed(tmp_path: Path, line: str, what: str):
    (tmp_path / "pass").write_text("correct horse battery")
    typed = parser().parse_args(line.format(tmp_path).split())
    environ = {"SYNAPSE_STATE_DIR": str(tmp_path / "state"), "SYNAPSE_CONFIG": str(tmp_path / "none.toml")}
    (tmp_path / "none.toml").touch()
    with pytest.raises(StateError, match=what):
        COMMANDS[typed.command](Invocation(typed, environ, lambda: datetime.now(UTC)))
    assert not (tmp_path / "state").exists()
