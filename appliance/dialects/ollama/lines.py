"""Reads the lines of one answer of Ollama's `/api/chat` into events.

A line may hold thinking, text, whole tool calls, the chances of tokens and the end of the answer, in any mixture.
Source: dialects.md §2; `api/types.go` and `server/routes.go` of Ollama 0.33; recorded answers.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

import orjson

from appliance.dialects.chat import (
    Event,
    Finish,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    TokenChance,
    ToolCallDelta,
    Usage,
)
from appliance.dialects.jsonobject import json_object
from appliance.dialects.ollama.errors import InvalidToolCall, OllamaError, failure, sentence
from appliance.dialects.ollama.forced import Forced

MAX_COUNT = 2**31 - 1
"""llama.cpp counts tokens in 32 bits. What is larger is no count, and would fit into no certificate."""

_FINISH: dict[object, FinishReason] = {"stop": "stop", "length": "length"}


class Reader:
    """Feed the lines of one answer, in order. Indices and ids of its tool calls are ours, not the server's."""

    def __init__(
        self, forced: Forced | None, new_id: Callable[[], str], *, parallel: bool = True, choice: int = 0
    ) -> None:
        self._forced = forced
        self._new_id = new_id
        self._parallel = parallel
        self._choice = choice
        self._calls = 0
        self._held: list[str] = []  # the text that is going to be the forced call
        self._chances: tuple[TokenChance, ...] = ()
        self._finished = False

    @property
    def finished(self) -> bool:
        """Whether the model has ended its answer; a stream that ends before has failed."""
        return self._finished

    def read(self, line: bytes) -> tuple[Event, ...]:
        """The events of one line; the last one of an answer is its `Finish`. A blank line has none.

        Raises OllamaError for an `error` line, for one that is not of this dialect, and for an end that is not the
        model's own: `load` and `unload` generated nothing, and a connection that broke inside the server comes as
        `done` without a reason. InvalidToolCall is for a call that the model got wrong.
        """
        if not line.strip():
            return ()
        fields = json_object(line)
        if fields is None:
            raise OllamaError("It sent a line that is not a JSON object.")
        if fields.get("error") is not None:
            raise failure(sentence(fields["error"]))
        if self._finished:
            raise OllamaError("It went on after the end of its answer.")
        done = fields.get("done", False)
        if not isinstance(done, bool):
            raise OllamaError("It sent a line whose `done` is not a boolean.")
        events = [*self._message(fields)]
        return (*events, *self._end(fields)) if done else tuple(events)

    def _message(self, fields: dict[str, object]) -> Iterator[Event]:
        message = _member(fields, "message", {})
        chances = tuple(_chance(each) for each in _list(fields, "logprobs"))
        thinking, text, calls = _text(message, "thinking"), _text(message, "content"), _list(message, "tool_calls")
        if thinking:
            yield ReasoningDelta(thinking, self._choice)
        if text and self._forced:
            self._held.append(text)
        elif text:
            yield TextDelta(text, self._chances + chances, self._choice)
        for call in calls:
            yield from self._call(*_called(call))
        # Tokens that a parser of the server holds back belong to whatever it makes of them.
        self._chances = () if text or thinking or calls else self._chances + chances

    def _call(self, name: str, arguments: str) -> Iterator[Event]:
        if self._calls == 0 or self._parallel:
            yield ToolCallDelta(self._calls, self._new_id(), name, arguments, self._choice)
            self._calls += 1

    def _end(self, fields: dict[str, object]) -> Iterator[Event]:
        stated = fields.get("done_reason")
        reason = _FINISH.get(stated) if isinstance(stated, str) else None
        if reason is None:
            raise OllamaError("It ended its answer without having finished it.")
        usage = Usage(_count(fields, "prompt_eval_count"), _count(fields, "eval_count"))
        if self._forced and not self._calls:
            yield from self._forced_call(self._forced, usage, cut=reason == "length")
        self._finished = True
        yield Finish("tool_calls" if self._calls and reason == "stop" else reason, usage, self._choice)

    def _forced_call(self, forced: Forced, usage: Usage, *, cut: bool) -> Iterator[Event]:
        text = "".join(self._held)
        try:
            yield from self._call(*forced.call(text))
        except InvalidToolCall as error:
            if not cut:
                raise InvalidToolCall(str(error), usage) from None
            # An answer that ends in the middle of its call has none, and says so by its end.
            if text:
                yield TextDelta(text, choice=self._choice)


def _called(call: object) -> tuple[str, str]:
    """Name and arguments of a call; the arguments as compact JSON, in the order in which the model wrote them."""
    function = _member(call, "function", None)
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        raise OllamaError("It sent a tool call without a name.")
    if isinstance(arguments, str):
        return name, arguments
    if arguments is not None and not isinstance(arguments, dict):
        raise OllamaError("It sent a tool call whose arguments are not an object.")
    try:
        return name, orjson.dumps(cast("object", arguments) or {}).decode()
    except orjson.JSONEncodeError:
        raise InvalidToolCall("The model's tool call is nested too deeply.") from None


def _chance(value: object) -> TokenChance:
    alternatives = _list(_token(value), "top_logprobs")
    return replace(_token_chance(value), alternatives=tuple(_token_chance(each) for each in alternatives))


def _token_chance(value: object) -> TokenChance:
    fields = _token(value)
    token, logprob = fields.get("token"), fields.get("logprob")
    if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
        raise OllamaError("It sent a line whose `logprobs` are not those of tokens.")
    return TokenChance(token, float(logprob))


def _token(value: object) -> dict[str, object]:
    return _member({"logprobs": value}, "logprobs", None)


def _member(value: object, name: str, otherwise: dict[str, object] | None) -> dict[str, object]:
    member = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    member = otherwise if member is None else member
    if not isinstance(member, dict):
        raise OllamaError(f"It sent a line whose `{name}` is not an object.")
    return cast("dict[str, object]", member)


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise OllamaError(f"It sent a line whose `{name}` is not a text.")
    return value or ""


def _list(fields: dict[str, object], name: str) -> list[object]:
    value = fields.get(name)
    if value is not None and not isinstance(value, list):
        raise OllamaError(f"It sent a line whose `{name}` is not a list.")
    return cast("list[object]", value or [])


def _count(fields: dict[str, object], name: str) -> int:
    value = fields.get(name, 0)  # left out when zero
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise OllamaError(f"It sent a line whose `{name}` is not a count.")
    return value
