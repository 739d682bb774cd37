"""Reads the stream of one call to an OpenAI-like provider, chunk by chunk, into neutral events.

Servers that speak alike differ in what they leave out; where the meaning is clear, it is read. Decided here:

- A refusal is text, and an answer that holds one ends as `content_filter`, since that is how it is told elsewhere.
- The provider's usage is of all answers together: the first answer's end has it, the others' have no completion.
- Without usage the pieces of content stand for the completion's tokens, and the prompt has none.
- A reason that is none of the known words is no end of an answer.

Source: the OpenAI API reference, "The chat completion chunk object"; the Mistral API reference; dialects.md §1.1.
"""

from collections.abc import Callable, Iterator
from typing import TypeGuard, cast

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
from appliance.dialects.openai.chances import chances
from appliance.dialects.openai.refusals import told
from appliance.dialects.openai.stream_calls import Calls
from appliance.dialects.upstream import ProviderError

DONE = "[DONE]"

MAX_COUNT = 2**31 - 1
"""Tokens. What is larger is no count, and would fit into no certificate."""

_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
}


class Reader:
    """Feed the events of one stream, in order; `choices` is how many answers were asked for, `first` the number that
    the first of them has in the call.

    Tool calls come whole, when their answer ends, with ids of the gateway's own. `parallel`: one answer may hold
    several. The ends of all answers come last, once the usage is known or known to be missing.
    """

    def __init__(self, new_id: Callable[[], str], *, choices: int = 1, parallel: bool = True, first: int = 0) -> None:
        self._answers = [_Answer(first + index, new_id, parallel=parallel) for index in range(choices)]
        self._usage: Usage | None = None
        self._finished = False

    @property
    def finished(self) -> bool:
        return self._finished

    @property
    def ended(self) -> bool:
        """Whether the model has ended every answer, so that only the usage may be to come."""
        return all(answer.reason is not None for answer in self._answers)

    def read(self, event: str, data: str) -> tuple[Event, ...]:
        """The events of one chunk. Raises ProviderError: an error that it tells, or what is not its dialect."""
        data = data.strip()
        if self._finished or not data:
            return ()
        if data == DONE:
            return self.close()
        fields = _chunk(data)
        error = fields.get("error")
        if error is not None or event == "error" or fields.get("object") == "error":
            raise told(fields if error is None else error)
        usage = _usage(fields.get("usage"))
        self._usage = usage or self._usage
        events = tuple(each for choice in _list(fields, "choices") for each in self._choice(choice))
        return (*events, *self.close()) if usage and self.ended else events

    def close(self) -> tuple[Event, ...]:
        """The ends of the answers, where nothing more comes. Raises ProviderError if not all have ended."""
        if self._finished:
            return ()
        if not self.ended:
            raise ProviderError("failed", "It ended its stream before its answer was done.")
        self._finished = True
        return tuple(
            Finish(answer.reason, self._share(answer), answer.index)
            for answer in self._answers
            if answer.reason is not None
        )

    def _choice(self, value: object) -> Iterator[Event]:
        fields = _fields(value, "choices")
        index = fields.get("index") or 0
        if not isinstance(index, int) or not 0 <= index < len(self._answers):
            raise ProviderError("failed", "It sent an answer that was not asked for.")
        yield from self._answers[index].read(fields)

    def _share(self, answer: "_Answer") -> Usage:
        if self._usage is None:
            return Usage(0, answer.pieces)
        return self._usage if answer is self._answers[0] else Usage(self._usage.prompt_tokens, 0)


class _Answer:
    """One answer as far as it has come."""

    def __init__(self, index: int, new_id: Callable[[], str], *, parallel: bool) -> None:
        self.index = index
        self.reason: FinishReason | None = None
        self.pieces = 0
        self._new_id = new_id
        self._parallel = parallel
        self._calls = Calls()
        self._refused = False
        self._chances: tuple[TokenChance, ...] = ()  # of tokens that have had no text yet

    def read(self, fields: dict[str, object]) -> Iterator[Event]:
        if self.reason is not None:
            return
        self._chances += chances(fields.get("logprobs"))
        delta = fields.get("delta")
        if delta is not None:
            for event in self._delta(_fields(delta, "delta")):
                self.pieces += 1
                yield event
        said = fields.get("finish_reason")
        if said not in (None, ""):
            yield from self._end(said)

    def _delta(self, delta: dict[str, object]) -> Iterator[Event]:
        if delta.get("audio") is not None:
            raise ProviderError("failed", "It answers with sound, which this gateway cannot hand on.")
        thought = _text(delta, "reasoning_content") or _text(delta, "reasoning")
        if thought:
            yield ReasoningDelta(thought, self.index)
        yield from self._content(delta.get("content"))
        refusal = _text(delta, "refusal")
        if refusal:
            self._refused = True
            yield self._said(refusal)
        for piece in _list(delta, "tool_calls"):
            self.pieces += 1
            self._calls.add(piece)
        if delta.get("function_call") is not None:
            self.pieces += 1
            self._calls.add_function(delta["function_call"])

    def _content(self, content: object) -> Iterator[Event]:
        """A text, or a list of chunks of text and of thoughts as Mistral's models that think write them."""
        if isinstance(content, str):
            if content:
                yield self._said(content)
        elif isinstance(content, list):
            for one in cast("list[object]", content):
                yield from self._part(_fields(one, "content"))
        elif content is not None:
            raise ProviderError("failed", "It sent a `content` that is not a text.")

    def _part(self, part: dict[str, object]) -> Iterator[Event]:
        if part.get("type") == "thinking":
            thoughts = part.get("thinking")
            pieces = [thoughts] if isinstance(thoughts, str) else [_text(_fields(one, "thinking"), "text")
                      for one in _list(part, "thinking")]  # fmt: skip
            thought = "".join(pieces)
            if thought:
                yield ReasoningDelta(thought, self.index)
        elif part.get("type") == "text":
            text = _text(part, "text")
            if text:
                yield self._said(text)
        elif part.get("type") not in ("reference", "tool_reference"):  # those point at sources and say nothing
            raise ProviderError("failed", "It sent a part of an answer that this gateway cannot hand on.")

    def _said(self, text: str) -> TextDelta:
        held, self._chances = self._chances, ()
        return TextDelta(text, held, self.index)

    def _end(self, said: object) -> Iterator[Event]:
        reason = _REASONS.get(said.lower()) if isinstance(said, str) else None
        if reason is None:
            raise ProviderError("failed", "It ended its answer without having finished it.")
        if self._chances:
            yield self._said("")
        calls = self._calls.whole(cut=reason in ("length", "content_filter"))
        for i, (name, arguments) in enumerate(calls if self._parallel else calls[:1]):
            yield ToolCallDelta(i, self._new_id(), name, arguments, self.index)
        if reason in ("stop", "tool_calls"):
            reason = "content_filter" if self._refused else "tool_calls" if calls else "stop"
        self.reason = reason


def _chunk(data: str) -> dict[str, object]:
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise ProviderError("failed", "It sent an event that is not a JSON object.")
    return cast("dict[str, object]", value)


def _usage(value: object) -> Usage | None:
    """None where it is missing, null or no two counts."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    prompt, completion = fields.get("prompt_tokens"), fields.get("completion_tokens", 0)
    return Usage(prompt, completion) if _is_count(prompt) and _is_count(completion) else None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _fields(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ProviderError("failed", f"It sent a chunk whose `{name}` is not what it should be.")
    return cast("dict[str, object]", value)


def _list(fields: dict[str, object], name: str) -> list[object]:
    value = fields.get(name)
    if value is not None and not isinstance(value, list):
        raise ProviderError("failed", f"It sent a chunk whose `{name}` is not a list.")
    return cast("list[object]", value or [])


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
