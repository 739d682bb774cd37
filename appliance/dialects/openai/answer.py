"""Writes the answer of a chat call, whole or as server-sent events.

Must not decide an ending, a header or when to speak: it turns events into bytes, the same for both.
Source: dialects.md §1.1 ("Stream", "Non-stream"), gateway.md ("Headers and body additions", "Streaming").
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from appliance.dialects.chat import (
    BlockEnd,
    Event,
    Finish,
    OwnBlock,
    OwnDelta,
    ReasoningDelta,
    TextDelta,
    TokenChance,
    ToolCallDelta,
)

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment (WHATWG HTML, "Server-sent events"): it moves no event and keeps proxies and clients waiting."""

Json = dict[str, object]


def whole(
    *,
    id: str,  # noqa: A002  the wire's own word
    created: int,
    model: str,
    events: Iterable[Event],
    pulse: Mapping[str, object],
    legacy_functions: bool = False,
) -> bytes:
    """One `chat.completion` of all events of an answer, each choice of which has its `Finish` among them.

    `created` is in seconds since the epoch, `model` the one that answered.
    """
    choices: dict[int, list[Event]] = {}
    for event in events:
        choices.setdefault(event.choice, []).append(event)
    finishes = [event for one in choices.values() for event in one if isinstance(event, Finish)]
    return orjson.dumps(
        {
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [_choice(index, choices[index], legacy=legacy_functions) for index in sorted(choices)],
            "usage": _usage(finishes),
            "pulse": dict(pulse),
        }
    )


class Stream:
    """The chunks of one streamed answer, which all bear the same id, time and model: the string that was sent.

    Give it `start`, every event, then `finish`; or `error` at any point, and nothing after it. The ends of the choices
    are held back until `finish`, so that a stream that fails has told no success.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  the wire's own word
        created: int,
        model: str,
        *,
        include_usage: bool,
        choices: int = 1,
        legacy_functions: bool = False,
    ) -> None:
        self._head: Json = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}
        self._include_usage = include_usage
        self._choices = choices
        self._legacy = legacy_functions
        self._called: set[int] = set()
        self._finishes: dict[int, Finish] = {}

    def start(self) -> bytes:
        """The role, once for each choice."""
        return b"".join(self._delta(index, {"role": "assistant", "content": ""}) for index in range(self._choices))

    def delta(self, event: Event) -> bytes:
        """The chunks of one event; none, yet, for a `Finish`."""
        match event:
            case Finish():
                self._finishes[event.choice] = event
                return b""
            case ReasoningDelta():
                return self._delta(event.choice, _reasoning(event.text))
            case TextDelta():
                return self._delta(event.choice, {"content": event.text}, event.chances)
            case ToolCallDelta():
                self._called.add(event.choice)
                parts = _function_call_parts(event) if self._legacy else _tool_call_parts(event)
                return b"".join(self._delta(event.choice, part) for part in parts)
            case OwnBlock() | OwnDelta() | BlockEnd():
                return b""

    def finish(self) -> bytes:
        """The end of success: each choice's finish chunk, the usage chunk if it was asked for, and the terminal."""
        finishes = [self._finishes[index] for index in sorted(self._finishes)]
        ends = [
            self._delta(one.choice, {}, end=_finish_reason(one, called=one.choice in self._called, legacy=self._legacy))
            for one in finishes
        ]
        usage = self._chunk([], _usage(finishes)) if self._include_usage else b""
        return b"".join([*ends, usage, DONE])

    def keep_alive(self, silent: float) -> bytes:  # noqa: ARG002  a comment is all that there is to say
        return KEEP_ALIVE

    def error(self, body: bytes) -> bytes:
        """The end of failure: the error object of `errors.body` as an event, and no terminal after it."""
        return b"data: " + body + b"\n\n"

    def _delta(self, index: int, delta: Json, chances: Sequence[TokenChance] = (), end: str | None = None) -> bytes:
        choice: Json = {"index": index, "delta": delta, "finish_reason": end}
        if chances:
            choice["logprobs"] = _logprobs(chances)
        return self._chunk([choice], None)

    def _chunk(self, choices: Sequence[Json], usage: Json | None) -> bytes:
        chunk = {**self._head, "choices": choices}
        if self._include_usage:
            chunk["usage"] = usage
        return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _choice(index: int, events: Sequence[Event], *, legacy: bool) -> Json:
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    reasoning = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    calls = [event for event in events if isinstance(event, ToolCallDelta)]
    chances = [chance for event in events if isinstance(event, TextDelta) for chance in event.chances]
    message: Json = {"role": "assistant", "content": text if text or not calls else None, "refusal": None}
    if reasoning:
        message |= _reasoning(reasoning)
    if calls and legacy:
        message["function_call"] = _function(calls[0])
    elif calls:
        message["tool_calls"] = [{"id": one.id, "type": "function", "function": _function(one)} for one in calls]
    (finish,) = (event for event in events if isinstance(event, Finish))
    return {
        "index": index,
        "message": message,
        "logprobs": _logprobs(chances) if chances else None,
        "finish_reason": _finish_reason(finish, called=bool(calls), legacy=legacy),
    }


def _reasoning(text: str) -> Json:
    """Under both names: clients of DeepSeek's dialect know the first, those of Ollama's the second."""
    return {"reasoning_content": text, "reasoning": text}


def _function(call: ToolCallDelta) -> Json:
    return {"name": call.name, "arguments": call.arguments}


def _tool_call_parts(call: ToolCallDelta) -> Iterator[Json]:
    head = {"index": call.index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield {"tool_calls": [head]}
    yield {"tool_calls": [{"index": call.index, "function": {"arguments": call.arguments}}]}


def _function_call_parts(call: ToolCallDelta) -> Iterator[Json]:
    yield {"function_call": {"name": call.name, "arguments": ""}}
    yield {"function_call": {"arguments": call.arguments}}


def _finish_reason(finish: Finish, *, called: bool, legacy: bool) -> str:
    reason = "tool_calls" if called and finish.reason == "stop" else finish.reason
    return "function_call" if legacy and reason == "tool_calls" else reason


def _logprobs(chances: Iterable[TokenChance]) -> Json:
    content = [{**_chance(one), "top_logprobs": [_chance(each) for each in one.alternatives]} for one in chances]
    return {"content": content, "refusal": None}


def _chance(chance: TokenChance) -> Json:
    # A token that is not text by itself comes with a replacement character: its bytes are not known.
    known = None if "\ufffd" in chance.token else list(chance.token.encode())
    return {"token": chance.token, "logprob": chance.logprob, "bytes": known}


def _usage(finishes: Sequence[Finish]) -> Json:
    """Of the whole call: every choice has read the same prompt, which counts once."""
    prompt = max((finish.usage.prompt_tokens for finish in finishes), default=0)
    completion = sum(finish.usage.completion_tokens for finish in finishes)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
