"""The main job with real clients: an answer from the embedded engine, and a certificate that matches its bytes."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from appliance.proofs import verify
from tests.e2e.installation import Installation

QUESTION: list[Any] = [{"role": "user", "content": "Name a colour. Answer with one word."}]


def sha256(data: bytes | str) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


class Tap:
    """An HTTP client for the SDK that keeps the exact bytes of the last request and its answer's headers."""

    def __init__(self) -> None:
        self.sent = b""
        self.proof_id = ""
        self.http = httpx.Client(
            trust_env=False, event_hooks={"request": [self._request], "response": [self._response]}
        )

    def _request(self, request: httpx.Request) -> None:
        self.sent = request.read()

    def _response(self, response: httpx.Response) -> None:
        self.proof_id = response.headers.get("x-pulse-proof", "")


@pytest.fixture
def tap():
    tap = Tap()
    yield tap
    tap.http.close()


@pytest.fixture
def client(installation: Installation, tap: Tap) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{installation.base}/v1", api_key=installation.key, http_client=tap.http)


def check(installation: Installation, proof_id: str, request: bytes, text: str) -> dict[str, Any]:
    """The certificate is good offline and says these bytes and this text; its payload."""
    file = installation.certificate(proof_id)
    keys = httpx.get(f"{installation.base}/.well-known/synapse/keys.json", trust_env=False).content
    report = verify.verify({"call": file}, keys)
    assert report.exit_code == 0, verify.render(report)
    said = json.loads(file)["payload"]
    assert said["request"]["sha256"] == sha256(request)
    assert said["request"]["bytes"] == len(request)
    assert said["response"]["textSha256"] == sha256(text)
    assert said["egress"]["local"] is True
    assert said["egress"]["node"]["engine"].startswith("synapse-engine/")
    return said


def test_the_openai_sdk_whole(installation: Installation, client: openai.OpenAI, tap: Tap):
    answer = client.chat.completions.create(model="pulse-auto", messages=QUESTION, max_tokens=12, seed=1)
    text = answer.choices[0].message.content
    assert text
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    said = check(installation, tap.proof_id, tap.sent, text)
    assert said["usage"] == {
        "promptTokens": answer.usage.prompt_tokens,
        "completionTokens": answer.usage.completion_tokens,
    }


def test_the_openai_sdk_streamed(installation: Installation, client: openai.OpenAI, tap: Tap):
    parts: list[str] = []
    finish: list[str] = []
    with client.chat.completions.create(
        model="gpt-4o", messages=QUESTION, max_tokens=24, stream=True, stream_options={"include_usage": True}
    ) as stream:
        for chunk in stream:
            assert chunk.model == "gpt-4o"
            for choice in chunk.choices:
                parts.append(choice.delta.content or "")
                finish += [choice.finish_reason] if choice.finish_reason else []
            usage = chunk.usage
    assert finish in (["stop"], ["length"])
    assert usage is not None
    assert sum(bool(part) for part in parts) > 1
    said = check(installation, tap.proof_id, tap.sent, "".join(parts))
    assert said["request"]["model"] == "gpt-4o"


def test_the_same_seed_says_the_same(client: openai.OpenAI):
    texts = {
        client.chat.completions.create(model="pulse-auto", messages=QUESTION, max_tokens=20, temperature=0, seed=7)
        .choices[0]
        .message.content
        for _ in range(2)
    }
    assert len(texts) == 1


def test_the_output_ceiling_and_stop(client: openai.OpenAI):
    story: list[Any] = [{"role": "user", "content": "Count from one to one hundred, with commas."}]
    cut = client.chat.completions.create(model="pulse-auto", messages=story, max_completion_tokens=5)
    assert cut.choices[0].finish_reason == "length"
    assert cut.usage is not None
    assert cut.usage.completion_tokens == 5


def test_the_sdks_own_errors(installation: Installation, client: openai.OpenAI, tap: Tap):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="agent:nobody", messages=QUESTION)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="pulse-auto", messages=QUESTION, n=9)
    assert refused.value.param == "n"
    stranger = openai.OpenAI(base_url=f"{installation.base}/v1", api_key="sk_live_wrong", http_client=tap.http)
    with pytest.raises(openai.AuthenticationError):
        stranger.chat.completions.create(model="pulse-auto", messages=QUESTION)


def curl(installation: Installation, body: bytes, tmp_path: Path) -> tuple[bytes, str]:
    """The body that curl got, and the proof's id."""
    done = subprocess.run(
        ["curl", "-sS", "--noproxy", "*", "-D", str(tmp_path / "headers"), "--data-binary", "@-",
         *(part for name, value in installation.headers.items() for part in ("-H", f"{name}: {value}")),
         f"{installation.base}/v1/chat/completions"],
        input=body, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    headers = httpx.Headers(
        [tuple(line.split(": ", 1)) for line in (tmp_path / "headers").read_text().splitlines() if ": " in line]  # type: ignore[misc]  pairs
    )
    return done.stdout, headers["x-pulse-proof"]


@pytest.mark.parametrize("programs", [("curl",)], indirect=True)
@pytest.mark.usefixtures("programs")
def test_curl_whole(installation: Installation, tmp_path: Path):
    body = json.dumps({"model": "pulse-auto", "messages": QUESTION, "max_tokens": 12}).encode()
    answer, proof_id = curl(installation, body, tmp_path)
    said = check(installation, proof_id, body, json.loads(answer)["choices"][0]["message"]["content"])
    assert said["response"]["sha256"] == sha256(answer)


@pytest.mark.parametrize("programs", [("curl",)], indirect=True)
@pytest.mark.usefixtures("programs")
def test_curl_streamed(installation: Installation, tmp_path: Path):
    body = json.dumps({"model": "pulse-auto", "messages": QUESTION, "max_tokens": 12, "stream": True}).encode()
    answer, proof_id = curl(installation, body, tmp_path)
    chunks = [line.removeprefix("data: ") for line in answer.decode().splitlines() if line]
    assert chunks[-1] == "[DONE]"
    parts = [json.loads(chunk)["choices"][0]["delta"].get("content", "") for chunk in chunks[:-1]]
    said = check(installation, proof_id, body, "".join(parts))
    assert said["response"]["sha256"] == sha256(answer)


def test_many_at_once(installation: Installation):
    from concurrent.futures import ThreadPoolExecutor

    def ask(n: int) -> int:
        body = {"model": "pulse-auto", "messages": QUESTION, "max_tokens": 8, "stream": bool(n % 2)}
        return httpx.post(
            f"{installation.base}/v1/chat/completions",
            json=body,
            headers=installation.headers,
            timeout=60,
            trust_env=False,
        ).status_code

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [200] * 8
    assert installation.json("status")["calls_in_flight"] == 0
