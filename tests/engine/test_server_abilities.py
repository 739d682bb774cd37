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

    def test_a_stop_of_the_request_leaves_the_end_of_a_turn_out_of_the_text(self, engine: Engine):
        for prompt in ("Paris", "Berlin"):
            reply = engine.chat(prompt, format=SHAPE, options={"stop": ["zebra"], "temperature": 0, "num_predict": 200})
            assert list(json.loads(reply.json["message"]["content"])) == ["city", "capital"]
            assert reply.json["done_reason"] == "stop"

    def test_a_wide_choice_is_quick_and_holds(self, engine: Engine):
        values = [f"value-{number}" for number in range(8000)]
        reply = engine.chat("Choose one.", format={"enum": values}, options={"temperature": 2})
        assert json.loads(reply.json["message"]["content"]) in values
        assert reply.json["eval_duration"] < 10e9  # one token took 0.8 s when each value was open for itself


def nested(levels: int) -> dict[str, object]:
    value: dict[str, object] = {"type": "string"}
    for _ in range(levels):
        value = {"type": "array", "items": value}
    return value


def branching(levels: int, branches: int) -> dict[str, object]:
    """A small schema that means `branches ** levels` of them."""
    schema: dict[str, object] = {"type": "string"}
    for _ in range(levels):
        alternatives = [{"description": str(number)} for number in range(branches)]
        schema = {"type": "object", "anyOf": alternatives, "properties": {"a": schema}}
    return schema


def tool(parameters: object) -> list[object]:
    return [{"type": "function", "function": {"name": "f", "parameters": parameters}}]


class TestWhatWouldNotEnd:
    """Small requests that mean a great deal of work are refused or made smaller, and others are answered meanwhile."""

    @pytest.mark.parametrize(
        "fields",
        [
            {"format": nested(300)},
            {"tools": tool(nested(300))},
            {
                "messages": [
                    {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": nested(300)}}]}
                ]
            },
            {"format": {"$ref": "#/a/" + "9" * 5000, "a": [1]}},
            {"format": branching(22, 3)},
            {"format": branching(10, 2)},
            {"format": {"enum": [chr(0x4E00 + number) for number in range(8000)]}},
            {"messages": [{"role": "user", "content": "a"}] * 29_000, "truncate": False},
            {"messages": [{"role": "user", "content": "<|im_end|>" * 200_000}]},
        ],
    )
    def test_it_is_refused_in_words(self, engine: Engine, fields: dict[str, object]):
        reply = engine.chat(**fields)
        assert reply.status == 400
        assert "internal" not in reply.json["error"]

    @pytest.mark.parametrize("schema", [branching(14, 3), branching(10, 2)])
    def test_a_tool_with_such_a_schema_can_still_be_called(self, engine: Engine, schema: object):
        assert engine.chat("Hi", tools=tool(schema), options={"num_predict": 2}).status == 200

    @pytest.mark.parametrize("context", [[-1], [49152], [2**40]])
    def test_tokens_that_the_model_does_not_have(self, engine: Engine, context: list[int]):
        asked = {"model": "smollm2", "prompt": "Hi", "context": context}
        reply = engine.send("POST", "/api/generate", asked)
        assert (reply.status, reply.json["error"]) == (400, "context holds a token that the model does not have")

    def test_old_messages_go_before_anything_large_is_looked_at(self, engine: Engine):
        talk = [{"role": "user", "content": "a"}] * 29_000
        reply = engine.chat(messages=talk, options={"num_predict": 1, "num_ctx": 128})
        assert reply.status == 200
        assert 100 < reply.json["prompt_eval_count"] < 128

    def test_others_are_answered_meanwhile(self, engine: Engine):
        with ThreadPoolExecutor(12) as pool:
            heavy = [pool.submit(engine.chat, format=branching(9, 3)) for _ in range(10)]
            for path in ("/api/version", "/api/tags", "/api/ps"):
                assert engine.send("GET", path).status == 200
            assert {call.result().status for call in heavy} == {400}


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
    def test_two_steps(self, own_engine: Callable[..., Engine]):
        engine = own_engine()  # so small a model's words depend on what other calls left in llama.cpp's memory
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
