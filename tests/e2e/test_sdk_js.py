"""The official SDK in JavaScript: an agent of two steps at every kind of provider, forced tools on our own engine."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import notes, weather
from tests.e2e.installation import Installation
from tests.e2e.node_clients import FOLDER

PROGRAM = FOLDER / "sdk.mjs"
WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

pytestmark = pytest.mark.usefixtures("node_clients")


def run(base: str, key: str, asked: dict[str, Any], *, stream: bool, **more: Any) -> list[dict[str, Any]]:
    """The answers that the program got: until one has no call, or as many as it was to get."""
    job = {"base": base, "key": key, "stream": stream, **more, **asked}
    done = subprocess.run(
        ["node", PROGRAM], input=json.dumps(job), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@WAYS
@pytest.mark.parametrize("kind", notes.KINDS)
async def test_an_agent_of_two_steps(tmp_path: Path, kind: str, stream: bool):
    async with notes.noted(tmp_path / "state", kind) as made:
        url, key = made.gateway.url, made.gateway.key
        answers = await asyncio.to_thread(run, url, key, notes.ASKED, stream=stream, result=notes.RESULT)
        await made.check(answers)


@WAYS
def test_an_agent_of_two_steps_on_our_own_engine(installation: Installation, stream: bool):
    asked = weather.asked(weather.QUESTION)
    weather.check_loop(run(installation.base, installation.key, asked, stream=stream, result=weather.RESULT))


@WAYS
@pytest.mark.parametrize("question", [weather.QUESTION, weather.OTHER])
def test_a_tool_is_called_that_was_named(installation: Installation, question: str, stream: bool):
    asked = weather.asked(question, tool_choice=weather.NAMED)
    (answer,) = run(installation.base, installation.key, asked, stream=stream, turns=1)
    weather.check_named(answer)


@WAYS
@pytest.mark.parametrize("question", [weather.QUESTION, weather.OTHER])
def test_some_tool_is_called_where_one_is_required(installation: Installation, question: str, stream: bool):
    asked = weather.asked(question, tool_choice=weather.REQUIRED)
    (answer,) = run(installation.base, installation.key, asked, stream=stream, turns=1)
    weather.check_required(answer)
