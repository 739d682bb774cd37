"""`synapse node serve` and `synapse node reset`: what runs on a machine beside its Ollama, without a daemon there."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from appliance.cluster.agent.main import NodeOptions, run
from appliance.cluster.agent.main import reset as forget_gateway
from appliance.commands.outcome import Outcome
from appliance.commands.providers import read_key
from appliance.errors import ConfigError
from appliance.settings import Settings

MAX_KEY_FILE_BYTES = 4 * 1024


def serve(typed: Namespace, settings: Settings, environ: Mapping[str, str]) -> Outcome:
    """Run the agent until it is stopped."""
    return Outcome(code=run(options(typed, settings), environ))


def reset(typed: Namespace, settings: Settings) -> Outcome:
    """Let the machine belong to nobody again."""
    said = forget_gateway(_state(typed, settings))
    return Outcome({"said": said}, (said,))


def options(typed: Namespace, settings: Settings) -> NodeOptions:
    """What was typed, and for the rest the agent's own defaults. Raises ConfigError: the key file cannot be read."""
    named = {
        "name": typed.name,
        "ollama": typed.ollama,
        "host": typed.host,
        "port": typed.port,
        "join_port": typed.join_port,
        "slots": typed.slots,
        "gateway_words": typed.gateway_words,
    }
    return NodeOptions(
        state=_state(typed, settings),
        cluster_key=_cluster_key(typed),
        interfaces=tuple(typed.interface),
        announce=not typed.no_announce,
        **{name: value for name, value in named.items() if value is not None},
    )


def _state(typed: Namespace, settings: Settings) -> Path:
    return settings.state_dir / "node" if typed.state is None else Path(typed.state)


def _cluster_key(typed: Namespace) -> str | None:
    if typed.cluster_key_stdin:
        return read_key("Cluster key", "node serve --cluster-key-stdin")
    if typed.cluster_key_file is None:
        return None
    try:
        with Path(typed.cluster_key_file).open("rb") as file:
            return file.read(MAX_KEY_FILE_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(
            f"The cluster key's file {typed.cluster_key_file} cannot be read ({reason}).",
            advice="Write the key into it that `synapse cluster key` shows on the gateway.",
        ) from None
