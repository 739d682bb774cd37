"""The answer on the wire. Sources: dialects.md §1.1 ("Stream", "Non-stream"), gateway.md ("Headers", "Streaming")."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from appliance.dialects.chat import Finish, TextDelta, Usage
from appliance.dialects.openai import answer, errors

USAGE = Usage(prompt_tokens=812, completion_tokens=233)


def events(stream: bytes) -> list[str]:
    """The data of each server-sent event; comments have none (WHATWG HTML, "Server-sent events")."""
    assert stream.endswith(b"\n\n")
    blocks = stream.decode().removesuffix("\n\n").split("\n\n")
    assert all(len(block.split("\n")) == 1 for block in blocks)
    return [block.removeprefix("data: ") for block in blocks if block.startswith("data: ")]


def stream(include_usage: bool = False) -> answer.Stream:
    return answer.Stream(id="chatcmpl-1", created=1_790_000_000, model="pulse-auto", include_usage=include_usage)


def test_whole():
    body = answer.whole(
        id="chatcmpl-1",
        created=1_790_000_000,
        model="smollm2",
        text="Bonjour é\n",
        finish="stop",
        usage=USAGE,
        pulse={"provider": "ollama", "task": "simple", "pii_masked": 0},
    )
    assert json.loads(body) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "smollm2",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Bonjour é\n", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 812, "completion_tokens": 233, "total_tokens": 1045},
        "pulse": {"provider": "ollama", "task": "simple", "pii_masked": 0},
    }


def chunk(choices: list[dict[str, object]], **more: object) -> dict[str, object]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1790000000, "model": "pulse-auto"}
    return {**head, "choices": choices, **more}


def test_a_stream_without_usage():
    out = stream()
    sent = (
        out.start() + out.delta(TextDelta("Hel")) + out.delta(TextDelta("lo\n\n")) + out.finish(Finish("stop", USAGE))
    )
    *chunks, last = events(sent)
    assert last == "[DONE]"
    assert [json.loads(one) for one in chunks] == [
        chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]),
        chunk([{"index": 0, "delta": {"content": "Hel"}, "finish_reason": None}]),
        chunk([{"index": 0, "delta": {"content": "lo\n\n"}, "finish_reason": None}]),
        chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}]),
    ]


def test_a_stream_with_usage():
    out = stream(include_usage=True)
    *chunks, last = events(out.start() + out.delta(TextDelta("Hi")) + out.finish(Finish("length", USAGE)))
    assert last == "[DONE]"
    assert [json.loads(one) for one in chunks] == [
        chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}], usage=None),
        chunk([{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}], usage=None),
        chunk([{"index": 0, "delta": {}, "finish_reason": "length"}], usage=None),
        chunk([], usage={"prompt_tokens": 812, "completion_tokens": 233, "total_tokens": 1045}),
    ]


def test_an_error_ends_a_stream_without_a_terminal():
    out = stream()
    body = errors.body("The machine died.", "api_error", "upstream_error", None)
    (event,) = events(out.error(body))
    assert json.loads(event) == json.loads(body)
    assert b"[DONE]" not in out.error(body)


def test_keep_alive_is_a_comment():
    assert stream().keep_alive().startswith(b":")
    assert events(stream().keep_alive()) == []


@pytest.mark.parametrize("include_usage", [True, False])
@given(texts=st.lists(st.text()))
def test_any_text_survives_the_framing(include_usage: bool, texts: list[str]):
    out = stream(include_usage)
    sent = b"".join(out.delta(TextDelta(text)) for text in texts) + out.keep_alive()
    assert [json.loads(one)["choices"][0]["delta"]["content"] for one in events(sent)] == texts


def test_the_official_client_reads_both():
    pulse = {"provider": "ollama", "task": "simple", "pii_masked": 0}
    body = answer.whole(id="c", created=1, model="m", text="Hi", finish="length", usage=USAGE, pulse=pulse)
    whole = ChatCompletion.model_validate_json(body)
    assert whole.choices[0].message.content == "Hi"
    assert whole.usage is not None
    assert whole.usage.total_tokens == 1045
    out = stream(include_usage=True)
    *chunks, _ = events(out.start() + out.delta(TextDelta("Hi")) + out.finish(Finish("stop", USAGE)))
    read = [ChatCompletionChunk.model_validate_json(one) for one in chunks]
    assert [one.choices[0].finish_reason for one in read if one.choices] == [None, None, "stop"]
    assert read[-1].usage is not None
    assert read[-1].usage.completion_tokens == 233
