from datetime import UTC, datetime
from pathlib import Path

from appliance.backup import last
from appliance.backup.last import LastBackup
from appliance.doctor import gathering
from appliance.settings import load
from tests.backup.conftest import installed
from tests.box import Box
from tests.upstreams.ollama import OllamaDouble

NOW = datetime(2026, 11, 29, tzinfo=UTC)


async def test_of_an_installation_that_is_stopped(tmp_path: Path, ollama: OllamaDouble):
    state_dir = installed(tmp_path / "state")
    note = LastBackup(NOW, "/mnt/a", 5, True, "x")
    last.write(state_dir, note)
    environ = {
        "SYNAPSE_STATE_DIR": str(state_dir),
        "SYNAPSE_LOCAL__OLLAMA": ollama.url,
        "SYNAPSE_DISCOVERY__ENABLED": "false",
        "SYNAPSE_GATEWAY__PORT": "0",
    }
    settings = load(None, environ, system_file=tmp_path / "none")
    facts = await gathering.gather(settings, environ, config=Path("/c.toml"), now=NOW, online=False)
    assert (facts.config, facts.daemon, facts.backup, facts.clock.now) == ("/c.toml", None, note, NOW)
    assert (facts.state.directory.path, facts.database.installation is not None) == (str(state_dir), True)
    assert [machine.engine for machine in facts.machines] == ["ollama 0.32.15"]


async def test_of_one_that_runs_the_machines_are_what_the_daemon_says(gateway: Box):
    environ = {
        "SYNAPSE_STATE_DIR": str(gateway.state_dir),
        "SYNAPSE_DISCOVERY__ENABLED": "false",
        "SYNAPSE_GATEWAY__HOST": "127.0.0.1",
        "SYNAPSE_GATEWAY__PORT": gateway.url.rpartition(":")[2],
    }
    settings = load(None, environ, system_file=Path("/none"))
    facts = await gathering.gather(settings, environ, config=None, now=NOW, online=False)
    assert facts.daemon is not None
    assert (facts.machines, facts.port.answers, facts.config) == ((), True, None)
    assert [context.tokens for context in facts.daemon.contexts.contexts] == [8192]
