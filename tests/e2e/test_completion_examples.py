"""The examples of the specification's page on completions run unchanged but for base URL and key.

Source: completions.md ("Request examples", "JSON output for a pipeline", "Extracted data"). Each is in
tests/e2e/examples as it stands there; behind it a line prints what it has got, where it does not by itself.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from tests.e2e.beside import beside
from tests.e2e.installation import Installation
from tests.e2e.node_clients import FOLDER
from tests.upstreams.ollama import OllamaDouble, done, line, ollama_double, says

EXAMPLES = Path(__file__).parent / "examples"
SEED = Path(__file__).parents[2].parent / "shared/seeds/completions.md"
HOSTED = "https://api.subsidia.protypa.fr"
NAMES = (
    "complete.sh", "complete.ts", "complete.txt", "triage.ts", "triage.txt", "facts_list.sh", "facts_list.ts",
    "facts_list.txt", "facts_one.sh", "facts_one.txt", "facts_delete.sh", "facts_delete.txt",
)  # fmt: skip

THANKS = "Thanks Marie, we will call you after 5pm."
TRIAGE = {"category": "invoice", "urgent": True, "summary": "An invoice is overdue."}
ACCOUNT = (
    "You are a support assistant. Answer briefly.\n\n## SUPPLEMENTARY CONTEXT\n\n"
    '### Account (HIGH PRIORITY)\n{\n  "plan": "Pro",\n  "since": "2024-03"\n}'
)


@pytest.mark.skipif(not SEED.exists(), reason="the specification is not beside this clone")
@pytest.mark.parametrize("name", NAMES)
def test_they_are_the_specification_s_own(name: str):
    assert (EXAMPLES / name).read_text() in SEED.read_text()


# As the page has them.
PHONE = {"category": "contact", "key": "phone", "value": "06 12 34 56 78", "confidence": 0.97}
WINDOW = {"category": "preferences", "key": "call_window", "value": "after 5pm", "confidence": 0.9}


async def answer(request: web.Request) -> web.StreamResponse:
    """A good model: JSON where it is asked for it, and the facts where it is asked for those."""
    wanted = (await request.json()).get("format")
    said = THANKS if wanted is None else json.dumps(TRIAGE if wanted == "json" else {"facts": [PHONE, WINDOW]})
    return await says(line(said), done("stop", prompt=600, completion=14))(request)


@pytest.fixture(scope="module")
def double() -> Iterator[OllamaDouble]:
    with beside(ollama_double(default=answer)) as made:
        yield made


@pytest.fixture(scope="module")
def installation(double: OllamaDouble, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("completed") / "state", double.url)
    made.start()
    yield made
    assert made.stop() == 0


@pytest.fixture
def sent(double: OllamaDouble) -> list[bytes]:
    """What the machine gets from here on."""
    double.received.clear()
    return double.received


def program(name: str, installation: Installation, *, behind: str = "") -> str:
    return (EXAMPLES / name).read_text().replace(HOSTED, installation.base) + behind


def run(installation: Installation, *command: str) -> str:
    environ = {**os.environ, "SUBSIDIA_API_KEY": installation.key, "NO_PROXY": "127.0.0.1"}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def run_typescript(installation: Installation, tmp_path: Path, name: str, behind: str) -> Any:
    written, out = tmp_path / name, tmp_path / f"{name}.mjs"
    written.write_text(program(name, installation, behind=behind))
    return json.loads(
        run(installation, "node", "--no-warnings", str(FOLDER / "typescript.mjs"), str(written), str(out))
    )


def completed(sent: list[bytes]) -> None:
    body, extraction = map(orjson.loads, sent)
    assert "facts" in extraction["format"]["properties"]
    system, user = body["messages"]
    assert system == {"role": "system", "content": ACCOUNT}
    assert user["content"].endswith("call me on 06 12 34 56 78 after 5pm.")
    assert body["options"]["temperature"] == 0.2


def triaged(sent: list[bytes]) -> None:
    (body,) = map(orjson.loads, sent)
    assert body["format"] == "json"
    assert (body["options"]["temperature"], body["options"]["num_predict"]) == (0, 300)


class TestCompletion:
    @pytest.mark.parametrize("programs", [("curl",)], indirect=True)
    @pytest.mark.usefixtures("programs")
    def test_curl(self, installation: Installation, sent: list[bytes]):
        said = json.loads(run(installation, "bash", "-c", program("complete.sh", installation)))
        assert (said["content"], said["extracted"]) == (THANKS, [PHONE, WINDOW])
        completed(sent)

    @pytest.mark.usefixtures("node_clients")
    def test_typescript(self, installation: Installation, sent: list[bytes], tmp_path: Path):
        behind = "\nconsole.log(JSON.stringify({ content, usage, extracted }))\n"
        assert run_typescript(installation, tmp_path, "complete.ts", behind) == {
            "content": THANKS,
            "usage": {"promptTokens": 600, "completionTokens": 14, "totalTokens": 614},
            "extracted": [PHONE, WINDOW],
        }
        completed(sent)

    def test_python(self, installation: Installation, sent: list[bytes]):
        said = run(installation, sys.executable, "-c", program("complete.txt", installation))
        assert said.strip() == f"{THANKS} {[PHONE, WINDOW]}"
        completed(sent)


class TestTriage:
    @pytest.mark.usefixtures("node_clients")
    def test_typescript(self, installation: Installation, sent: list[bytes], tmp_path: Path):
        behind = "\nconsole.log(JSON.stringify(await triage('Pay now!')))\n"
        assert run_typescript(installation, tmp_path, "triage.ts", behind) == TRIAGE
        triaged(sent)

    def test_python(self, installation: Installation, sent: list[bytes]):
        behind = "\nprint(json.dumps(triage('Pay now!')))\n"
        said = run(installation, sys.executable, "-c", program("triage.txt", installation, behind=behind))
        assert json.loads(said) == TRIAGE
        triaged(sent)


class TestFacts:
    """Reading back, and deleting, what calls have extracted."""

    @pytest.fixture(autouse=True)
    def extracted(self, installation: Installation) -> None:
        said = run(installation, sys.executable, "-c", program("complete.txt", installation))
        assert "06 12 34 56 78" in said

    def listed(self, installation: Installation) -> list[dict[str, Any]]:
        behind = "\nimport json; print(json.dumps(res))\n"
        said = run(installation, sys.executable, "-c", program("facts_list.txt", installation, behind=behind))
        return json.loads(said.splitlines()[-1])["data"]

    @pytest.mark.parametrize("programs", [("curl",)], indirect=True)
    @pytest.mark.usefixtures("programs")
    def test_curl(self, installation: Installation):
        said = json.loads(run(installation, "bash", "-c", program("facts_list.sh", installation)))
        (fact,) = said["data"]  # of the category `contact`
        assert (said["count"], fact["source"], fact["key"], fact["value"]) == (
            1, "ticket-4812", "phone", "06 12 34 56 78",
        )  # fmt: skip
        named = f"FACT_ID={fact['id']}\n"
        assert json.loads(run(installation, "bash", "-c", named + program("facts_one.sh", installation))) == {
            "data": fact
        }
        assert run(installation, "bash", "-c", named + program("facts_delete.sh", installation)) == ""
        assert [one["key"] for one in self.listed(installation)] == ["call_window"]

    @pytest.mark.usefixtures("node_clients")
    def test_typescript(self, installation: Installation, tmp_path: Path):
        behind = "\nconsole.log(JSON.stringify({ data, count }))\n"
        said = run_typescript(installation, tmp_path, "facts_list.ts", behind)
        assert said == {"data": self.listed(installation), "count": 2}

    def test_python(self, installation: Installation):
        first = self.listed(installation)[0]
        before = f"fact_id = {first['id']!r}\n"
        one = before + program("facts_one.txt", installation, behind="\nimport json; print(json.dumps(fact))\n")
        assert json.loads(run(installation, sys.executable, "-c", one)) == first
        run(installation, sys.executable, "-c", program("facts_delete.txt", installation))
        assert self.listed(installation) == []
