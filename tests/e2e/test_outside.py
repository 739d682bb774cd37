"""The administrator's way to a first call that leaves, with the real command line, daemon and SDK."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator

import httpx
import openai
import pytest

from tests.calls.outside import KEY, received
from tests.e2e.installation import SYNAPSE, Installation
from tests.upstreams.openai import OpenAIDouble, echoes, openai_double

MAIL = "jane.roe@example.org"


@pytest.fixture
async def provider() -> AsyncIterator[OpenAIDouble]:
    async with openai_double(key=KEY, default=echoes(piece=3)) as double:
        yield double


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation without a local lane, which an administrator has just started when the first test comes."""
    installation = Installation(tmp_path_factory.mktemp("outside") / "state", "http://127.0.0.1:1")
    installation.environ["APP_MODE"] = "cloud"
    installation.start(ready=503)
    yield installation
    assert installation.stop() == 0


async def synapse(made: Installation, *arguments: str, said: str = "") -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(
        subprocess.run,
        [SYNAPSE, *arguments],
        env=made.environ,
        input=said,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


async def test_from_the_key_to_a_masked_and_restored_answer(made: Installation, provider: OpenAIDouble):
    add = ("provider", "add", "openai", "--kind", "openai", "--base-url", provider.url, "--key-stdin")
    models = ("--full", "gpt-double", "--fast", "gpt-double-mini")
    added = await synapse(made, *add, *models, said=f"{KEY}\n")
    assert added.returncode == 0, added.stderr
    assert (await synapse(made, "provider", "test", "openai")).returncode == 0
    assert (await synapse(made, "policy", "active", "openai")).returncode == 0
    shown = await synapse(made, "policy", "show")
    assert "openai" in shown.stdout

    async with httpx.AsyncClient(trust_env=False) as http:
        client = openai.AsyncOpenAI(base_url=f"{made.base}/v1", api_key=made.key, http_client=http)
        said = ""
        async with await client.chat.completions.create(
            model="pulse-auto", messages=[{"role": "user", "content": f"Write to {MAIL}."}], stream=True
        ) as stream:
            async for chunk in stream:
                said += chunk.choices[0].delta.content or "" if chunk.choices else ""
        assert said == f"Write to {MAIL}."
        raw = await client.chat.completions.with_raw_response.create(
            model="pulse-auto", messages=[{"role": "user", "content": f"Write to {MAIL}."}]
        )
        assert (raw.headers["x-pulse-provider"], raw.headers["x-pulse-pii-masked"]) == ("openai", "1")
        assert raw.parse().choices[0].message.content == f"Write to {MAIL}."
    assert MAIL.encode() not in received(provider)

    # Neither the value nor the key is in anything that is kept or was said.
    kept = b"".join(path.read_bytes() for path in made.state_dir.rglob("*") if path.is_file()) + made.log.read_bytes()
    for secret in (MAIL, KEY):
        assert secret.encode() not in kept
    assert KEY not in added.stdout + added.stderr + shown.stdout


@pytest.mark.parametrize(
    ("key", "url", "model", "word"),
    [("sk-wrong", "", "gpt-double", "key"), (KEY, "/v7", "gpt-double", "base URL"), (KEY, "", "gpt-none", "model")],
)
async def test_a_provider_that_is_set_up_wrongly_is_told_apart(
    made: Installation, provider: OpenAIDouble, key: str, url: str, model: str, word: str
):
    provider.strict = True
    added = await synapse(
        made, "provider", "add", "ours", "--kind", "openai", "--base-url", provider.url + url, "--full", model,
        "--key-stdin", said=key,
    )  # fmt: skip
    assert added.returncode == 0, added.stderr
    tested = await synapse(made, "provider", "test", "ours")
    assert tested.returncode == 1
    assert word in tested.stdout + tested.stderr
    assert key not in tested.stdout + tested.stderr


async def test_the_key_is_in_no_process_list(made: Installation):
    refused = await synapse(made, "provider", "add", "openai", "--kind", "openai", "--key", "sk-secret")
    assert refused.returncode == 2
    assert "sk-secret" not in refused.stderr
