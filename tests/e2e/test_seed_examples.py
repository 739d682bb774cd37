"""The specification's three example programs run unchanged but for base URL and key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.installation import Installation

EXAMPLES = Path(__file__).parent / "examples"
SEED = Path(__file__).parents[2].parent / "shared/seeds/synapse.md"
HOSTED = "https://api.subsidia.protypa.fr"


def program(name: str, installation: Installation) -> str:
    text = (EXAMPLES / name).read_text()
    assert HOSTED in text
    return text.replace(HOSTED, installation.base)


def run(installation: Installation, *command: str) -> str:
    environ = {**os.environ, "SUBSIDIA_API_KEY": installation.key, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("programs", [("curl",)], indirect=True)
@pytest.mark.usefixtures("programs")
def test_curl(installation: Installation):
    said = run(installation, "bash", "-c", program("routing_decision.sh", installation)).lower()
    assert "x-pulse-provider: ollama" in said
    assert "x-pulse-pii-masked: 0" in said
    assert "x-pulse-proof: prf_" in said


@pytest.mark.parametrize("programs", [("node",)], indirect=True)
@pytest.mark.usefixtures("programs")
def test_typescript_in_node(installation: Installation, tmp_path: Path):
    file = tmp_path / "example.mjs"
    file.write_text(program("routing_decision.mjs", installation))
    said = run(installation, "node", str(file))
    assert "provider: 'ollama'" in said
    assert "masked: 0" in said
    assert "proof: 'prf_" in said
    assert said.splitlines()[-1] == "smollm2 simple"


def test_python(installation: Installation, tmp_path: Path):
    file = tmp_path / "example.py"
    file.write_text(program("routing_decision.txt", installation))
    first, second = run(installation, sys.executable, str(file)).splitlines()
    assert first.startswith("ollama 0 prf_")
    assert second == "smollm2 simple"


@pytest.mark.skipif(not SEED.exists(), reason="the specification is not beside this clone")
@pytest.mark.parametrize("name", ["routing_decision.sh", "routing_decision.mjs", "routing_decision.txt"])
def test_they_are_the_specifications_own(name: str):
    assert (EXAMPLES / name).read_text() in SEED.read_text()
