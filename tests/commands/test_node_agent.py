import io
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.arguments import parser
from appliance.cluster.agent.main import NodeOptions
from appliance.cluster.agent.state import opened
from appliance.cluster.identity import Identity
from appliance.commands import node_agent
from appliance.errors import ConfigError, StateError
from appliance.settings import Settings, load

SECRET = "synk_a-secret-that-nobody-may-see"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(None, {"SYNAPSE_STATE_DIR": str(tmp_path)})


def typed(line: str = "") -> Namespace:
    return parser().parse_args(["node", "serve", *line.split()])


def test_without_anything_the_agents_own_defaults_hold(settings: Settings, tmp_path: Path):
    assert node_agent.options(typed(), settings) == NodeOptions(tmp_path / "node")


def test_all_that_can_be_typed(settings: Settings):
    line = (
        "--name desk --ollama http://127.0.0.1:1 --host ::1 --port 0 --join-port 2 --slots 3 --interface eth0"
        " --interface eth1 --no-announce --state d"
    )
    given = parser().parse_args(["node", "serve", *line.split(), "--gateway-words", "a b c"])
    assert node_agent.options(given, settings) == NodeOptions(
        Path("d"),
        name="desk",
        ollama="http://127.0.0.1:1",
        host="::1",
        port=0,
        join_port=2,
        gateway_words="a b c",
        interfaces=("eth0", "eth1"),
        announce=False,
        slots=3,
    )


class TestClusterKey:
    def test_from_a_file(self, settings: Settings, tmp_path: Path):
        (tmp_path / "key").write_text(f"{SECRET}\n")
        found = node_agent.options(typed(f"--cluster-key-file {tmp_path / 'key'}"), settings)
        assert found.cluster_key == f"{SECRET}\n"
        assert SECRET not in repr(found)

    def test_from_standard_input(self, settings: Settings, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{SECRET}\n".encode())))
        assert node_agent.options(typed("--cluster-key-stdin"), settings).cluster_key == SECRET

    @pytest.mark.parametrize("content", [b"\xff", None])
    def test_what_cannot_be_read_says_what_to_do(self, settings: Settings, tmp_path: Path, content: bytes | None):
        if content is not None:
            (tmp_path / "key").write_bytes(content)
        with pytest.raises(ConfigError, match=r"cannot be read \(.+\)\. Write the key into it that `synapse cluster"):
            node_agent.options(typed(f"--cluster-key-file {tmp_path / 'key'}"), settings)

    def test_an_endless_file_ends(self, settings: Settings):
        found = node_agent.options(typed("--cluster-key-file /dev/zero"), settings).cluster_key
        assert found is not None
        assert len(found) == node_agent.MAX_KEY_FILE_BYTES

    def test_what_is_no_key_starts_nothing_and_is_not_repeated(self, settings: Settings, tmp_path: Path):
        (tmp_path / "key").write_text(SECRET)
        with pytest.raises(ConfigError) as caught:
            node_agent.serve(typed(f"--cluster-key-file {tmp_path / 'key'}"), settings, {})
        assert SECRET not in str(caught.value)
        assert not (tmp_path / "node").exists()


def test_it_runs_until_it_is_stopped(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    ran: list[object] = []

    def run(options: NodeOptions, environ: Mapping[str, str]) -> int:
        ran.extend((options, environ))
        return 7

    monkeypatch.setattr(node_agent, "run", run)
    assert node_agent.serve(typed("--slots 2"), settings, {"A": "b"}).code == 7
    assert ran == [NodeOptions(settings.state_dir / "node", slots=2), {"A": "b"}]


class TestReset:
    def test_of_nobodys_machine(self, settings: Settings):
        outcome = node_agent.reset(typed(), settings)
        assert outcome.lines == ("This machine belongs to no gateway.",)
        assert outcome.document == {"said": outcome.lines[0]}

    def test_of_a_gateways(self, settings: Settings):
        gateway = Identity.create()
        with opened(settings.state_dir / "node", name="desk", fallback="") as state:
            state.pin(gateway.certificate)
            with pytest.raises(StateError):
                node_agent.reset(typed(), settings)
        outcome = node_agent.reset(typed(), settings)
        assert outcome.lines == (f"This machine no longer belongs to the gateway {gateway.instance}.",)
        assert node_agent.reset(typed(), settings).lines == ("This machine belongs to no gateway.",)
