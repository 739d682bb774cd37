"""kill -9 of the daemon in the middle of a streamed answer: nothing that was promised is lost."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx

from appliance.proofs import verify
from tests.e2e.installation import Engine, Installation

CHAT = "/v1/chat/completions"


def body(**fields: Any) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": "Tell a long story."}], **fields}).encode()


def test_kill_9_during_a_streamed_answer(engine: Engine, tmp_path: Path):
    made = Installation(tmp_path / "state", engine.url)
    made.start()
    with httpx.Client(base_url=made.base, headers=made.headers, timeout=60, trust_env=False) as http:
        finished = [
            http.post(CHAT, content=body(max_tokens=4, stream=stream)).headers["x-pulse-proof"]
            for stream in (False, True, False)
        ]
        with http.stream("POST", CHAT, content=body(max_tokens=2000, stream=True)) as answer:
            cut_off = answer.headers["x-pulse-proof"]
            chunks = answer.iter_bytes()  # kept: dropping it would close the connection before the kill
            next(chunks)
            assert made.stop(signal.SIGKILL) == -signal.SIGKILL
    made.start()
    try:
        keys = (made.state_dir / "keys.json").read_bytes()
        files = {proof_id: made.certificate(proof_id) for proof_id in [*finished, cut_off]}
        assert verify.verify(files, keys).exit_code == 0
        endings = {name: json.loads(file)["payload"]["response"]["ending"] for name, file in files.items()}
        assert endings.pop(cut_off) == "failed"
        assert set(endings.values()) <= {"complete", "length"}
        assert json.loads(files[cut_off])["payload"]["recovered"] is True
        rows = {row["proof_id"]: row["ending"] for row in made.ledger()}
        assert rows.pop(cut_off) == "failed"
        assert rows == endings
        assert httpx.post(
            made.base + CHAT, content=body(max_tokens=2), headers=made.headers, trust_env=False
        ).is_success
    finally:
        assert made.stop() == 0


def test_the_engine_killed_in_the_middle_of_an_answer(tmp_path: Path):
    engine = Engine(tmp_path)
    made = Installation(tmp_path / "state", engine.url)
    made.start()
    try:
        with (
            httpx.Client(base_url=made.base, headers=made.headers, timeout=60, trust_env=False) as http,
            http.stream("POST", CHAT, content=body(max_tokens=2000, stream=True)) as answer,
        ):
            lines = answer.iter_lines()
            assert next(lines).startswith("data: ")
            engine.process.kill()
            *_, last = [line for line in lines if line]
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "upstream_error"
        assert (
            json.loads(made.certificate(answer.headers["x-pulse-proof"]))["payload"]["response"]["ending"] == "failed"
        )
        refused = httpx.post(made.base + CHAT, content=body(), headers=made.headers, timeout=60, trust_env=False)
        assert refused.status_code in (502, 503)
        assert "Traceback" not in refused.text
    finally:
        engine.process.wait(10)
        assert made.stop() == 0
