"""What the engine can do besides talking, on real models: formats, tools, embeddings, two models side by side.

Expected values are Ollama's recorded ones, written out here.
"""

import json
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.engine.live import Engine, Reply
from tests.waiting import wait_until

SHAPE = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "capital": {"type": "boolean"}},
    "required": ["city", "capital"],
}


class TestFormat:
    @pytest.mark.parametrize("stream", [True, False])
    def test_a_schema_holds_whatever_the_model_would_say(self, engine: Engine, stream: bool):
        reply = engine.chat(
            "Tell me a story.", format=SHAPE, stream=stream, options={"temperature": 2, "num_predict": 200}
        )
        value = json.loads("".join(line["message"]["content"] for line in reply.lines))
        assert list(value) == ["city", "capital"]
        assert isinstance(value["capital"], bool)

    def test_json_is_an_object(self, engine: Engine):
        reply = engine.chat("Hi", format="json", options={"temperature": 0, "num_predict": 8})
        assert reply.json["message"]["content"].startswith("{")

    def test_a_schema_that_cannot_be_honoured_is_refused(self, engine: Engine):
        reply = engine.chat(format={"type": "object", "properties": {"a": {"pattern": "^x"}}})
        assert reply.status == 400
        assert '#/properties/a uses "pattern"' in reply.json["error"]

    def test_generate_has_it_too(self, engine: Engine):
        asked = {"model": "smollm2", "prompt": "Paris", "format": {"enum": ["yes", "no"]}, "stream": False}
        reply = engine.send("POST", "/api/generate", asked)
        assert json.loads(reply.json["response"]) in ("yes", "no")


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
COLD = {"temperature": 0, "num_predict": 100}


class TestTools:
    def test_two_steps(self, engine: Engine):
        question = {"role": "user", "content": "What is the weather in Paris?"}
        message = engine.chat(messages=[question], tools=[WEATHER], options=COLD).json["message"]
        (call,) = message["tool_calls"]
        assert call["function"] == {"index": 0, "name": "get_weather", "arguments": {"city": "Paris"}}
        result = {"role": "tool", "tool_name": "get_weather", "content": "18 degrees, sunny"}
        answer = engine.chat(messages=[question, message, result], tools=[WEATHER], options=COLD).json
        assert "tool_calls" not in answer["message"]
        assert "18" in answer["message"]["content"]
        assert answer["done_reason"] == "stop"

    def test_what_needs_no_tool_is_answered(self, engine: Engine):
        reply = engine.chat("Hello!", tools=[WEATHER], stream=True, options=COLD)
        assert not any("tool_calls" in line["message"] for line in reply.lines)
        assert len(reply.lines) > 2  # it comes word by word, and not at the end

    def test_a_call_that_is_cut_off_is_text(self, engine: Engine):
        options = {"temperature": 0, "num_predict": 9}
        reply = engine.chat("What is the weather in Paris?", tools=[WEATHER], options=options)
        assert reply.json["done_reason"] == "length"
        assert reply.json["message"]["content"].startswith("<tool_call>")
        assert "tool_calls" not in reply.json["message"]


class TestEmbeddings:
    @pytest.fixture(autouse=True)
    def _needs(self, weights: object) -> None:
        pass

    def embed(self, engine: Engine, **fields: object) -> Reply:
        return engine.send("POST", "/api/embed", {"model": "all-minilm"} | fields)

    def test_what_means_the_same_is_near(self, engine: Engine):
        texts = ["The cat sits on the mat.", "A kitten is on the rug.", "The invoice is due in May."]
        reply = self.embed(engine, input=texts)
        cat, kitten, invoice = reply.json["embeddings"]
        assert sum(map(float.__mul__, cat, kitten)) > 0.5 > sum(map(float.__mul__, cat, invoice)) + 0.2

    def test_many_texts_and_chats_at_once(self, engine: Engine):
        with ThreadPoolExecutor(8) as pool:
            vectors = [pool.submit(self.embed, engine, input=[f"text {n}", "same"]) for n in range(6)]
            chats = [pool.submit(engine.chat, options={"num_predict": 4}) for _ in range(2)]
        assert {call.result().status for call in vectors + chats} == {200}
        first = vectors[0].result().json["embeddings"][1]
        assert all(call.result().json["embeddings"][1] == pytest.approx(first, abs=1e-3) for call in vectors)

    def test_each_model_is_loaded_and_unloaded_alone(self, engine: Engine):
        def names() -> set[str]:
            return {model["name"] for model in engine.loaded()}

        engine.chat(messages=[], keep_alive=0)
        engine.send("POST", "/api/generate", {"model": "all-minilm", "keep_alive": 0})
        assert names() == set()
        self.embed(engine, input="a", keep_alive="1m")
        (entry,) = engine.loaded()
        assert (entry["name"], entry["context_length"], entry["size_vram"]) == ("all-minilm:latest", 512, 0)
        engine.chat(messages=[])
        assert [model["name"] for model in engine.loaded()] == ["smollm2:latest", "all-minilm:latest"]
        engine.chat(messages=[], keep_alive=0)
        assert names() == {"all-minilm:latest"}
        assert self.embed(engine, input="a", keep_alive=0).status == 200
        wait_until(lambda: names() == set())

    def test_a_runner_that_died_comes_back(self, own_engine: Callable[..., Engine]):
        engine = own_engine(slots=1, context=256)
        assert self.embed(engine, input="a").status == 200
        os.kill(engine.runner("all-minilm"), signal.SIGKILL)
        wait_until(lambda: len(engine.loaded()) == 1)
        assert self.embed(engine, input="a").status == 200
