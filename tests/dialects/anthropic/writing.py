"""Answers as they are written, for tests: whole, streamed, and checked to be the same both ways."""

import json
from typing import Any

from anthropic.types import Message

from appliance.dialects.anthropic import answer
from appliance.dialects.chat import Event
from tests.dialects.anthropic import stream_grammar

Json = dict[str, Any]


ESTIMATE = 7
"""Tokens of the prompt, until the model tells."""


def stream(tokens: int = ESTIMATE) -> answer.Stream:
    return answer.Stream("msg_1", "pulse-auto", input_tokens=lambda: tokens)


def sent(*events: Event) -> bytes:
    """A whole stream."""
    out = stream()
    return b"".join([out.start(), *map(out.delta, events), out.finish()])


def whole(*events: Event) -> Json:
    """One message, which is of the official client's type."""
    body = answer.whole(id="msg_1", model="smollm2", events=events, input_tokens=ESTIMATE)
    Message.model_validate_json(body, strict=True)
    return json.loads(body)


def message(*events: Event) -> Json:
    """The message of an answer, which is the same whole and streamed."""
    body = whole(*events)
    assert stream_grammar.read(sent(*events)).message == body | {"model": "pulse-auto"}
    return body
