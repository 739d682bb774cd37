"""The engine's HTTP front on a real model. Expected values are Ollama's recorded ones, written out here."""

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import aiohttp
import ollama
import pytest

from appliance.engine.clock import Clock
from appliance.engine.server import Front
from appliance.engine.shelf import Shelf
from tests.engine.live import RAMBLING, Engine, is_running
from tests.engine.played import make_desk
from tests.waiting import wait_until

JSON = "application/json; charset=utf-8"


class TestPlainAnswers:
    def test_root(self, engine: Engine):
        reply = engine.send("GET", "/")
        assert (reply.status, reply.body) == (200, b"Ollama is running")
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        head = engine.send("HEAD", "/")
        assert (head.status, head.headers["content-length"], head.body) == (200, "17", b"")

    def test_version_names_what_answers(self, engine: Engine):
        version = engine.send("GET", "/api/version").json["version"]
        assert version.startswith("0.32.15+xllamacpp.")

    def test_tags(self, engine: Engine):
        reply = engine.send("GET", "/api/tags")
        assert reply.headers["content-type"] == JSON
        model = reply.json["models"][0]
        assert model["name"] == "smollm2:latest"
        assert model["capabilities"] == ["completion", "tools"]
        assert model["details"]["parameter_size"] == "134.52M"
        assert model["details"]["quantization_level"] == "Q4_1"
        assert len(bytes.fromhex(model["digest"])) == 32

    def test_the_server_does_not_say_what_it_is_made_of(self, engine: Engine):
        assert set(engine.send("GET", "/").headers) == {"content-type", "content-length", "date"}

    @pytest.mark.parametrize(
        ("method", "path", "status", "body"),
        [
            ("GET", "/api/nothing", 404, b"404 page not found"),
            ("POST", "/api/pull", 404, b"404 page not found"),
            ("DELETE", "/api/delete", 404, b"404 page not found"),
            ("POST", "/v1/chat/completions", 404, b"404 page not found"),
            ("GET", "/api/generate", 405, b"405 method not allowed"),
            ("GET", "/api/embed", 405, b"405 method not allowed"),
            ("GET", "/api/chat", 405, b"405 method not allowed"),
            ("DELETE", "/api/show", 405, b"405 method not allowed"),
            ("POST", "/api/tags", 405, b"405 method not allowed"),
            ("OPTIONS", "/api/chat", 405, b"405 method not allowed"),
        ],
    )
    def test_unknown_routes_and_methods(self, engine: Engine, method: str, path: str, status: int, body: bytes):
        reply = engine.send(method, path)
        assert (reply.status, reply.body, reply.headers["content-type"]) == (status, body, "text/plain")

    @pytest.mark.parametrize(
        "headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Origin": "null"}]
    )
    def test_strangers(self, engine: Engine, headers: dict[str, str]):
        reply = engine.send("GET", "/api/tags", headers=headers)
        assert (reply.status, reply.body) == (403, b"")
        assert set(reply.headers) == {"content-length", "date"}

    def test_a_page_of_this_machine(self, engine: Engine):
        reply = engine.send("GET", "/api/tags", headers={"Origin": "http://localhost:3000"})
        assert reply.status == 200
        assert "access-control-allow-origin" not in reply.headers

    def test_show(self, engine: Engine):
        body = engine.send("POST", "/api/show", {"model": "SmolLM2:latest"}).json
        assert body["capabilities"] == ["completion", "tools"]
        assert body["model_info"]["llama.context_length"] == 8192
        assert body["template"].startswith("{{- range .Messages }}<|im_start|>")
        missing = engine.send("POST", "/api/show", {"model": "nope"})
        assert (missing.status, missing.json) == (404, {"error": "model 'nope:latest' not found"})

    def test_a_body_that_is_too_large(self, engine: Engine):
        reply = engine.send("POST", "/api/chat", b" " * (32 * 2**20 + 1))
        assert reply.status == 413
        assert list(reply.json) == ["error"]

    def test_a_body_that_cannot_be_read(self, engine: Engine):
        reply = engine.send("POST", "/api/chat", b"no gzip", {"Content-Encoding": "gzip"})
        assert (reply.status, reply.json) == (400, {"error": "the request's body cannot be read"})


class TestChat:
    def test_whole(self, engine: Engine):
        reply = engine.chat(options={"num_predict": 3, "temperature": 0})
        assert (reply.status, reply.chunked, reply.headers["content-type"]) == (200, False, JSON)
        body = reply.json
        assert list(body) == [
            "model", "created_at", "message", "done", "done_reason", "total_duration", "load_duration",
            "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration",
        ]  # fmt: skip
        assert body["message"] == {"role": "assistant", "content": 'The phrase "'}  # recording 29
        assert (body["done_reason"], body["prompt_eval_count"], body["eval_count"]) == ("length", 10, 3)

    def test_streamed(self, engine: Engine):
        reply = engine.chat(stream=True, options={"num_predict": 3, "temperature": 0})
        assert (reply.status, reply.chunked, reply.headers["content-type"]) == (200, True, "application/x-ndjson")
        assert [line["message"]["content"] for line in reply.lines] == ["The", " phrase", ' "', ""]
        assert [line["done"] for line in reply.lines] == [False, False, False, True]
        assert reply.lines[-1]["done_reason"] == "length"

    def test_streaming_is_the_default_and_the_name_is_the_callers(self, engine: Engine):
        body = {
            "model": "smollm2:latest",
            "messages": [{"role": "user", "content": "Hi"}],
            "options": {"num_predict": 1},
        }
        reply = engine.send("POST", "/api/chat", body)
        assert {line["model"] for line in reply.lines} == {"smollm2:latest"}
        assert reply.chunked

    def test_temperature_zero_gives_the_same_text_twice(self, engine: Engine):
        options = {"temperature": 0, "seed": 1, "num_predict": 24}
        engine.chat("Name three colours.", options=options)  # fills the cache, which can change a number's last digit
        texts = {engine.chat("Name three colours.", options=options).json["message"]["content"] for _ in range(2)}
        assert len(texts) == 1

    def test_a_seed_decides_a_warm_answer(self, engine: Engine):
        def text(seed: int) -> str:
            options = {"temperature": 1.5, "seed": seed, "num_predict": 16}
            return engine.chat("Tell me a story.", options=options).json["message"]["content"]

        text(1)  # fills the cache, as above
        assert text(1) == text(1)
        assert len({text(seed) for seed in range(4)}) > 1

    def test_a_stop_sequence(self, engine: Engine):
        body = engine.chat(options={"num_predict": 9, "temperature": 0, "stop": [" phrase"]}).json
        assert (body["message"]["content"], body["done_reason"]) == ("The", "stop")

    def test_cached_tokens_count(self, engine: Engine):
        counts = [engine.chat("Same words", options={"num_predict": 1}).json["prompt_eval_count"] for _ in range(2)]
        assert counts[0] == counts[1]

    def test_log_probabilities(self, engine: Engine):
        body = engine.chat(logprobs=True, top_logprobs=2, options={"num_predict": 2, "temperature": 0}).json
        assert [entry["token"] for entry in body["logprobs"]] == ["The", " phrase"]  # recording 29
        assert body["logprobs"][0]["logprob"] == pytest.approx(-2.16, abs=0.2)
        assert [len(entry["top_logprobs"]) for entry in body["logprobs"]] == [2, 2]
        plain = engine.chat(logprobs=True, options={"num_predict": 1, "temperature": 0}).json
        assert list(plain["logprobs"][0]) == ["token", "logprob", "bytes"]

    def test_four_at_once(self, engine: Engine):
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda n: engine.chat(f"Count to {n}", options={"num_predict": 8}), range(8)))
        assert [reply.status for reply in replies] == [200] * 8
        assert all(reply.json["message"]["content"] for reply in replies)

    @pytest.mark.parametrize(
        ("body", "status", "sentence"),
        [
            (b"", 400, "missing request body"),
            (b'{"model":', 400, "unexpected EOF"),
            (b'{"messages":[]}', 400, "model is required"),
            (b'{"model":"nope","messages":[]}', 404, "model 'nope' not found"),
            (b'{"model":"smollm2","think":true}', 400, '"smollm2" does not support thinking'),
            (b'{"model":"smollm2","tools":[{}]}', 400, "a tool needs a function with a name"),
            (
                b'{"model":"smollm2","format":"xml"}',
                500,
                'invalid format: "\\"xml\\""; expected "json" or a valid JSON Schema object',
            ),
            (
                b'{"model":"smollm2","options":{"temperature":"hot"}}',
                500,
                'option "temperature" must be of type float32',
            ),
        ],
    )
    def test_refusals(self, engine: Engine, body: bytes, status: int, sentence: str):
        reply = engine.send("POST", "/api/chat", body)
        assert (reply.status, reply.json, reply.headers["content-type"]) == (status, {"error": sentence}, JSON)


class TestContext:
    LONG = "word " * 6000

    @pytest.mark.parametrize("truncate", [True, False])
    @pytest.mark.parametrize("stream", [True, False])
    def test_a_message_that_does_not_fit_is_refused(self, engine: Engine, truncate: bool, stream: bool):
        reply = engine.chat(self.LONG, truncate=truncate, stream=stream)
        assert reply.status == 400
        error = json.loads(reply.json["error"])["error"]
        assert error["type"] == "exceed_context_size_error"
        assert error["n_ctx"] == 4096
        assert error["n_prompt_tokens"] > 6000

    def test_whole_old_messages_go(self, engine: Engine):
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": self.LONG},
            {"role": "user", "content": "Hi"},
        ]
        options = {"num_predict": 2}
        assert engine.chat(messages=messages, truncate=False, options=options).status == 400
        kept = engine.chat(messages=messages, options=options).json["prompt_eval_count"]
        short = engine.chat(messages=[messages[0], messages[2]], options=options).json["prompt_eval_count"]
        assert kept == short

    def test_a_smaller_context_limits_prompt_and_answer(self, engine: Engine):
        body = engine.chat("Tell me a long story.", options={"num_ctx": 32}).json
        assert body["done_reason"] == "length"
        assert body["prompt_eval_count"] + body["eval_count"] == 32
        assert engine.chat("word " * 40, options={"num_ctx": 32}).status == 400


class TestResidence:
    @pytest.fixture(autouse=True)
    def _alone(self, engine: Engine) -> None:
        engine.send("POST", "/api/generate", {"model": "all-minilm", "keep_alive": 0})

    def test_unload_and_load(self, engine: Engine):
        assert engine.chat(messages=[], keep_alive=0).json["done_reason"] == "unload"
        assert engine.loaded() == []
        assert engine.chat(messages=[]).json["done_reason"] == "load"
        (model,) = engine.loaded()
        assert (model["name"], model["context_length"], model["size_vram"]) == ("smollm2:latest", 4096, 0)
        assert model["size"] > 98_000_000

    def test_a_question_loads_the_model(self, engine: Engine):
        engine.chat(messages=[], keep_alive=0)
        body = engine.chat(options={"num_predict": 1}).json
        assert body["load_duration"] > 10_000_000
        assert len(engine.loaded()) == 1

    def test_keep_alive_says_when_it_leaves(self, engine: Engine):
        engine.chat(messages=[], keep_alive=-1)
        assert engine.loaded()[0]["expires_at"].startswith("231")  # 292 years, Go's longest duration
        engine.chat(options={"num_predict": 1}, keep_alive="50ms")
        wait_until(lambda: engine.loaded() == [])

    def test_keep_alive_zero_unloads_after_the_answer(self, engine: Engine):
        assert engine.chat(options={"num_predict": 1}, keep_alive=0).status == 200
        wait_until(lambda: engine.loaded() == [])


def cpu_ticks(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def idle_after(process: int) -> float:
    """Seconds until the process last used the processor, seen from now on; it must then rest for half a second."""
    began = last_used = time.monotonic()
    ticks = cpu_ticks(process)
    while time.monotonic() - last_used < 0.5:
        time.sleep(0.01)
        now = cpu_ticks(process)
        if now != ticks:
            ticks, last_used = now, time.monotonic()
        assert last_used - began < 10, "it works on and on"
    return last_used - began


class TestAClientThatLeaves:
    @pytest.mark.parametrize("stream", [True, False])
    @pytest.mark.parametrize("text", ["Hi", "red door " * 1900], ids=["answering", "reading"])
    def test_the_work_stops_within_a_second(self, engine: Engine, stream: bool, text: str):
        engine.chat(options={"num_predict": 1})
        runner = engine.runner()
        message = {"role": "user", "content": text}
        asked = {"model": "smollm2", "stream": stream, "messages": [message], "options": RAMBLING}
        body = json.dumps(asked).encode()
        with socket.create_connection(("127.0.0.1", engine.port)) as connection:
            connection.sendall(b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
            connection.sendall(body)
            before = cpu_ticks(runner)
            wait_until(lambda: cpu_ticks(runner) - before > 30)
        assert idle_after(runner) < 1.0
        assert engine.chat(options={"num_predict": 1}).status == 200


async def test_an_unforeseen_error_says_nothing_of_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    desk = await make_desk(tmp_path)
    spoken = "a piece of a conversation"

    async def failing() -> str:
        raise ValueError(spoken)

    shelf = Shelf(replace(desk.text, digest=asyncio.create_task(failing())), nobody())
    front = Front(shelf, version="0", clock=Clock())
    _, port = await front.open("127.0.0.1", 0)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/api/tags") as response,
    ):
        assert (response.status, await response.json()) == (500, {"error": "internal error"})
    await front.close()
    await shelf.close()
    await desk.shelf.close()
    assert "ValueError" in caplog.text
    assert "failing" in caplog.text
    assert spoken not in caplog.text


async def nobody() -> None:
    return None


@pytest.fixture
def client(engine: Engine) -> Iterator[ollama.Client]:
    client = ollama.Client(host=engine.url)
    yield client
    client._client.close()


class TestOllamasOwnClient:
    def test_list_and_show(self, client: ollama.Client):
        assert client.list().models[0].model == "smollm2:latest"
        shown = client.show("smollm2")
        assert shown.capabilities == ["completion", "tools"]
        assert shown.modelinfo is not None
        assert shown.modelinfo["general.architecture"] == "llama"

    def test_chat_whole_and_streamed(self, client: ollama.Client):
        asked = {"model": "smollm2", "messages": [{"role": "user", "content": "Hi"}]}
        options = {"temperature": 0, "num_predict": 3}
        assert client.chat(**asked, options=options).message.content == 'The phrase "'
        parts = list(client.chat(**asked, options=options, stream=True))
        assert "".join(part.message.content or "" for part in parts) == 'The phrase "'
        assert parts[-1].done_reason == "length"

    def test_generate_and_embed(self, client: ollama.Client, weights: object):
        options = {"temperature": 0, "num_predict": 3}
        assert client.generate("smollm2", "Once upon a time", raw=True, options=options).response == ", the city"
        assert len(client.embed("all-minilm", ["a", "b"]).embeddings) == 2
        assert len(client.embeddings("all-minilm", "a").embedding) == 384

    def test_a_tool_that_is_a_function(self, client: ollama.Client):
        def add_numbers(a: int, b: int) -> int:
            """Add two numbers.

            Args:
                a: The first number
                b: The second number
            """
            return a + b

        asked = {"role": "user", "content": "Please add 21 and 34."}
        answer = client.chat("smollm2", [asked], tools=[add_numbers], options={"temperature": 0})
        (call,) = answer.message.tool_calls or ()
        assert (call.function.name, set(call.function.arguments)) == ("add_numbers", {"a", "b"})

    def test_errors(self, client: ollama.Client):
        with pytest.raises(ollama.ResponseError) as caught:
            client.chat("nope", [{"role": "user", "content": "Hi"}])
        assert (caught.value.status_code, caught.value.error) == (404, "model 'nope' not found")

    def test_ps(self, client: ollama.Client, engine: Engine):
        engine.chat(messages=[])
        model = next(model for model in client.ps().models if model.name == "smollm2:latest")
        assert model.context_length == 4096


class TestDeath:
    def test_the_runner_dies_in_mid_stream_and_comes_back(self, own_engine: Callable[..., Engine]):
        engine = own_engine()
        runner = engine.runner()
        lines: list[bytes] = []
        message = {"role": "user", "content": "Hi"}
        body = json.dumps({"model": "smollm2", "messages": [message], "options": RAMBLING}).encode()
        with socket.create_connection(("127.0.0.1", engine.port), timeout=20) as connection:
            head = b"POST /api/chat HTTP/1.0\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head + body)
            with connection.makefile("rb") as stream:
                while b"content" not in (line := stream.readline()):
                    lines.append(line)
                os.kill(runner, signal.SIGKILL)
                lines += stream.readlines()
        assert lines[0].startswith(b"HTTP/1.0 200") or lines[0].startswith(b"HTTP/1.1 200")
        assert "unexpectedly stopped" in json.loads(lines[-1])["error"]
        assert engine.chat(options={"num_predict": 1}).status == 200
        assert engine.runner() != runner

    def test_the_runner_dies_under_a_whole_answer(self, own_engine: Callable[..., Engine]):
        engine = own_engine()
        runner = engine.runner()
        before = cpu_ticks(runner)
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(engine.chat, options=RAMBLING)
            wait_until(lambda: cpu_ticks(runner) - before > 20)
            os.kill(runner, signal.SIGKILL)
            reply = call.result(20)
        assert reply.status == 500
        assert list(reply.json) == ["error"]
        assert engine.chat(options={"num_predict": 1}).status == 200

    def test_an_unloaded_runner_that_was_killed_is_not_listed(self, own_engine: Callable[..., Engine]):
        engine = own_engine()
        os.kill(engine.runner(), signal.SIGKILL)
        wait_until(lambda: engine.loaded() == [])

    def test_the_engine_is_killed(self, own_engine: Callable[..., Engine]):
        engine = own_engine()
        runner = engine.runner()
        call = threading.Thread(target=engine.chat_until_cut)
        call.start()
        engine.end(signal.SIGKILL)
        wait_until(lambda: not is_running(runner), seconds=2)
        call.join(20)
