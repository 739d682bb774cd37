import subprocess
import sys
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.admin.client import Client
from appliance.admin.wire import DaemonDown
from appliance.commands.invocation import Invocation, online
from appliance.commands.outcome import Outcome
from appliance.errors import ConfigError

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def invocation(config: Path | None = None, **environ: str) -> Invocation:
    return Invocation(Namespace(config=None if config is None else str(config)), environ, lambda: NOW)


def test_the_settings_are_those_of_the_environment(tmp_path: Path):
    found = invocation(SYNAPSE_STATE_DIR=str(tmp_path), SYNAPSE_ADMIN_SOCKET=str(tmp_path / "a.sock")).settings()
    assert (found.state_dir, found.admin.socket) == (tmp_path, tmp_path / "a.sock")


def test_or_of_the_file_that_was_named(tmp_path: Path):
    file = tmp_path / "s.toml"
    file.write_text(f'state_dir = "{tmp_path / "there"}"\n')
    assert invocation(file).settings().state_dir == tmp_path / "there"
    with pytest.raises(ConfigError):
        invocation(tmp_path / "none.toml").settings()


def test_an_online_command_has_an_open_client_and_what_was_typed(tmp_path: Path):
    call = invocation(SYNAPSE_STATE_DIR=str(tmp_path), SYNAPSE_ADMIN_SOCKET=str(tmp_path / "a.sock"))

    async def do(client: Client, given: Invocation) -> Outcome:
        assert given is call
        with pytest.raises(DaemonDown, match=r"The daemon is not running .* Start it: "):
            await client.nodes()
        return Outcome(code=7)

    assert online(do)(call).code == 7


def test_it_imports_nothing_heavy():
    code = "import sys, appliance.commands.invocation; print(*(name for name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"asyncio", "aiohttp", "cryptography", "appliance.admin.client"} & set(ran.stdout.split())
