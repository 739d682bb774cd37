"""The examples of the specification's page on addresses run unchanged but for base URL and key, agents aside.

Source: model-addressing.md ("Examples", "Discover addresses"). Each is in tests/e2e/examples as it stands there.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from tests.e2e.beside import beside
from tests.e2e.claude_code import ClaudeCode
from tests.e2e.installation import Installation
from tests.e2e.node_clients import FOLDER
from tests.upstreams.ollama import done, line, ollama_double, says

EXAMPLES = Path(__file__).parent / "examples"
SEED = Path(__file__).parents[2].parent / "shared/seeds/model-addressing.md"
HOSTED = "https://api.subsidia.protypa.fr"
NAMES = ("grounded.sh", "grounded.ts", "grounded.txt", "addresses.txt", "claude_code.sh", "models.sh", "models.ts",
         "models.txt")  # fmt: skip

SENSITIVE = "sensitive=true -> local Ollama (data never leaves machine)"
FULL = "task=agent -> configured model (ollama/double)"
FAST = "task=simple -> fast model (ollama/double)"


@pytest.mark.skipif(not SEED.exists(), reason="the specification is not beside this clone")
@pytest.mark.parametrize("name", NAMES)
def test_they_are_the_specification_s_own(name: str):
    assert (EXAMPLES / name).read_text() in SEED.read_text()


def program(name: str, base: str) -> str:
    return (EXAMPLES / name).read_text().replace(HOSTED, base)


class Asked:
    """The calls since this was made, as their certificates tell them."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._before = len(installation.ledger())

    def payloads(self) -> list[Any]:
        """Oldest first."""
        rows = self._installation.ledger()[self._before :]
        return [json.loads(self._installation.certificate(row["proof_id"]))["payload"] for row in rows]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A daemon on a machine that can do what Claude Code needs, and answers everything at once."""
    default = says(line("Hello."), done(prompt=20_000))
    with beside(ollama_double(default=default, capabilities=["completion", "tools"], context_length=131_072)) as double:
        made = Installation(tmp_path_factory.mktemp("addressed") / "state", double.url)
        made.start()
        yield made
        assert made.stop() == 0


@pytest.fixture
def asked(installation: Installation) -> Asked:
    return Asked(installation)


def run(installation: Installation, *command: str) -> str:
    environ = {**os.environ, "SUBSIDIA_API_KEY": installation.key, "NO_PROXY": "127.0.0.1"}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def run_typescript(installation: Installation, name: str) -> str:
    # Beside the packages that it imports.
    written, out = FOLDER / "node_modules" / name, FOLDER / "node_modules" / f"{name}.mjs"
    written.write_text(program(name, installation.base))
    return run(installation, "node", "--no-warnings", str(FOLDER / "typescript.mjs"), str(written), str(out))


def client_of(installation: Installation) -> anthropic.Anthropic:
    http = anthropic.DefaultHttpxClient(trust_env=False)
    return anthropic.Anthropic(base_url=installation.base, api_key=installation.key, http_client=http)


def grounded(asked: Asked) -> None:
    (payload,) = asked.payloads()
    assert payload["request"]["model"] == "pulse-auto+cortex"
    assert payload["address"] == {"kind": "auto", "cortex": True}
    assert "grounding" not in payload  # there is no knowledge base yet, so that nothing matches


class TestGrounded:
    @pytest.mark.parametrize("programs", [("curl",)], indirect=True)
    @pytest.mark.usefixtures("programs")
    def test_curl(self, installation: Installation, asked: Asked):
        assert '"chat.completion"' in run(installation, "bash", "-c", program("grounded.sh", installation.base))
        grounded(asked)

    @pytest.mark.usefixtures("node_clients")
    def test_typescript(self, installation: Installation, asked: Asked):
        assert "provider: 'ollama'" in run_typescript(installation, "grounded.ts")
        grounded(asked)

    def test_python(self, installation: Installation, asked: Asked):
        assert run(installation, sys.executable, "-c", program("grounded.txt", installation.base)).strip()
        grounded(asked)

    def test_in_the_other_dialect(self, installation: Installation, asked: Asked):
        with client_of(installation) as client:
            client.messages.create(
                model="pulse-auto+cortex",
                max_tokens=20,
                messages=[{"role": "user", "content": "What notice period does the Martin lease require?"}],
            )
        grounded(asked)


ADDRESSES = {
    "pulse-sensitive+cortex": (SENSITIVE, {"kind": "auto", "cortex": True}),
    "pulse-agent": (FULL, {"kind": "auto"}),
    "gpt-4o": (FAST, {"kind": "auto"}),
}
"""Of the page's other addresses in Python, those that are no agent's: what their certificates say."""


def told(asked: Asked) -> dict[str, Any]:
    return {
        payload["request"]["model"]: (payload["routing"]["reason"], payload["address"]) for payload in asked.payloads()
    }


def test_other_addresses(installation: Installation, asked: Asked):
    # The page takes `client` and `msgs` as given; its agent is one that this installation does not have.
    given = f"""
import os, openai
client = openai.OpenAI(base_url="{installation.base}/v1", api_key=os.environ["SUBSIDIA_API_KEY"])
msgs = [{{"role": "user", "content": "Hi"}}]
"""
    lines = program("addresses.txt", installation.base).splitlines()
    served = "\n".join(text for text in lines if "agent:" not in text)
    assert len(served.splitlines()) == len(lines) - 1
    run(installation, sys.executable, "-c", given + served)
    assert told(asked) == ADDRESSES


def test_other_addresses_in_the_other_dialect(installation: Installation, asked: Asked):
    with client_of(installation) as client:
        for address in ADDRESSES:
            client.messages.create(model=address, max_tokens=9, messages=[{"role": "user", "content": "Hi"}])
        with pytest.raises(anthropic.NotFoundError, match="not_found_error"):
            client.messages.create(
                model="agent:demo-cfo+nocortex+nomemory", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
            )
    assert told(asked) == ADDRESSES


@pytest.mark.usefixtures("node_clients")
async def test_claude_code(installation: Installation, asked: Asked, tmp_path: Path):
    claude = ClaudeCode(tmp_path, installation.base, installation.key)
    exported = [
        text.removeprefix("export ").split("#")[0].strip().split("=", 1)
        for text in program("claude_code.sh", installation.base).splitlines()
        if text.startswith("export ")
    ]
    assert len(exported) == 3
    claude.environ |= {name: value.strip('"') for name, value in exported}
    claude.environ["ANTHROPIC_AUTH_TOKEN"] = installation.key
    ran = await claude.run("Say hello.")
    assert (ran.code, ran.said.strip()) == (0, "Hello."), ran
    (payload,) = asked.payloads()
    assert payload["request"]["model"] == "pulse-agent+cortex"
    assert (payload["routing"]["taskType"], payload["address"]) == ("agent", {"kind": "auto", "cortex": True})


class TestModels:
    @pytest.mark.parametrize("programs", [("curl",)], indirect=True)
    @pytest.mark.usefixtures("programs")
    def test_curl(self, installation: Installation):
        said = run(installation, "bash", "-c", program("models.sh", installation.base))
        assert said.startswith('{"object":"list","data":[{"id":"pulse-auto","object":"model","created":')

    @pytest.mark.usefixtures("node_clients")
    def test_typescript(self, installation: Installation):
        assert run_typescript(installation, "models.ts").strip() == "[]"

    def test_python(self, installation: Installation):
        assert run(installation, sys.executable, "-c", program("models.txt", installation.base)).strip() == "[]"

    def test_in_the_other_dialect(self, installation: Installation):
        with client_of(installation) as client:
            assert [one.id for one in client.models.list()][:3] == ["pulse-auto", "pulse-sensitive", "pulse-agent"]
