import subprocess
from pathlib import Path

import pytest

from appliance.commands.completion_scripts import script
from appliance.upkeep_arguments import SHELLS
from tests.e2e.needs import need


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_finds_nothing_wrong_with_it(shell: str, tmp_path: Path):
    need(shell)
    path = tmp_path / "script"
    path.write_text(script(shell, "/opt/it's $(touch x)/synapse"))
    checked = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_it_names_no_command_and_so_is_never_out_of_date(shell: str):
    text = script(shell, "/opt/synapse")
    assert "revoke" not in text
    assert f"/opt/synapse' completion {shell} --answer" in text or f"/opt/synapse completion {shell} --answer" in text
