"""llama.cpp's wire, as far as the engine speaks it: bodies that it takes and events that it sends. Pure.

Source: llama.cpp's server documentation, `POST /completion`, `/apply-template`, `/tokenize` and `/embeddings`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import orjson

from appliance.engine.gbnf import Grammar
from appliance.engine.options import Options
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message
from appliance.engine.tools import Tool, ToolCall
from appliance.errors import EngineError

_SEEDS = 2**32 - 1
"""llama.cpp's seeds have 32 bits, and the largest number means a random one."""

_FINAL_FIELDS = ("content", "stop", "stop_type", "timings")
"""What is wanted of the last event, which would otherwise repeat the whole prompt."""

_WORD = 1
"""llama.cpp's number for a trigger that is a text."""


NO_EVENT = "the model runner sent something that is no event"


class RunnerFailed(EngineError):
    """llama.cpp died, or says that it cannot go on, in the middle of a request."""


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token and the natural logarithm of its probability."""

    token: str
    logprob: float
    bytes: tuple[int, ...]
    alternatives: tuple["TokenChance", ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the answer's text, of one token or of several that make a character together."""

    text: str
    chances: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The end of an answer. Counts are tokens, times nanoseconds; the prompt's count includes what was cached."""

    reason: Literal["stop", "length"]
    text: str
    prompt_tokens: int
    prompt_ns: int
    answer_tokens: int
    answer_ns: int

    def without_text(self) -> "End":
        return replace(self, text="")

    def after(self, prompt_ns: int) -> "End":
        """The same end, after a part of the prompt was read in a time of its own."""
        return replace(self, prompt_ns=self.prompt_ns + prompt_ns)


Event = Piece | ToolCall | End


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads, as text and as tokens, and the messages that it was made of."""

    text: str
    tokens: list[int]
    messages: tuple[Message, ...] = ()


def template_body(messages: Sequence[Message], tools: Sequence[Tool]) -> bytes:
    return orjson.dumps(conversation(messages, tools))


def conversation(messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, object]:
    """Messages and tools in OpenAI's shape, which llama.cpp reads."""
    body: dict[str, object] = {"messages": [_message(each) for each in messages]}
    if tools:
        body["tools"] = [_tool(each) for each in tools]
    return body


def tokenize_body(text: str, *, special: bool = True) -> bytes:
    """Special tokens count as such, as they do when Ollama hands the prompt over as text.

    With `special`, the tokens that the model wants around a text are added.
    """
    return orjson.dumps({"content": text, "add_special": special, "parse_special": True})


def detokenize_body(tokens: Sequence[int]) -> bytes:
    return orjson.dumps({"tokens": tokens})


def embeddings_body(inputs: Sequence[Sequence[int]]) -> bytes:
    """Texts as tokens, whose embeddings have the length 1."""
    return orjson.dumps({"input": inputs, "embd_normalize": 2})


def parse_embeddings(body: bytes) -> list[list[float]]:
    """The embeddings in the order of the inputs."""
    entries = cast("list[dict[str, object]]", orjson.loads(body)["data"])
    entries.sort(key=lambda entry: cast("int", entry["index"]))
    return [cast("list[float]", entry["embedding"]) for entry in entries]


def completion_body(
    tokens: Sequence[int],
    options: Options,
    *,
    limit: int,
    stops: Sequence[str],
    ceiling: int | None,
    alternatives: int | None,
    grammar: Grammar | None = None,
) -> bytes:
    """The body of a streamed completion.

    `limit` is the number of tokens that prompt and answer may have together. `stops` are the model's own stop
    sequences, which count beside those of the request; its own `ceiling` of tokens counts unless the request sets one.
    `alternatives` asks for log probabilities, and `grammar` says what the answer may be.
    """
    body = sampling(options, room=limit - len(tokens), limit=limit, stops=stops, ceiling=ceiling)
    body |= {"prompt": tokens, "response_fields": _FINAL_FIELDS}
    if alternatives is not None:
        body["n_probs"] = max(alternatives, 1)
    if grammar is not None:
        body["grammar"] = grammar.text
        if grammar.trigger:
            body |= {"grammar_lazy": True, "grammar_triggers": [{"type": _WORD, "value": grammar.trigger}]}
    return orjson.dumps(body)


def prompt_body(tokens: Sequence[int]) -> bytes:
    """The body of a completion without an answer: llama.cpp reads the tokens and keeps what it made of them."""
    return orjson.dumps(
        {
            "prompt": tokens,
            "n_predict": 0,
            "stream": True,
            "cache_prompt": True,
            "return_progress": True,
            "response_fields": _FINAL_FIELDS,
        }
    )


def in_slot(body: bytes, slot: int) -> bytes:
    """The same body, for one of llama.cpp's slots."""
    return b'{"id_slot":%d,' % slot + body[1:]


def sampling(
    options: Options, *, room: int, limit: int, stops: Sequence[str], ceiling: int | None
) -> dict[str, object]:
    """What a streamed completion has in common with a streamed chat; `room` is tokens left for the answer."""
    body: dict[str, object] = {
        "stream": True,
        "cache_prompt": True,
        # One event after every batch of the prompt: writing it is how llama.cpp notices that the client left.
        "return_progress": True,
        "n_predict": min(options.num_predict or ceiling or room, room),
        "temperature": options.temperature,
        "top_k": options.top_k,
        "top_p": options.top_p,
        "min_p": options.min_p,
        "typical_p": options.typical_p,
        "repeat_penalty": options.repeat_penalty,
        "repeat_last_n": options.repeat_last_n if options.repeat_last_n >= 0 else limit,
        "presence_penalty": options.presence_penalty,
        "frequency_penalty": options.frequency_penalty,
        # Ollama lets a request's stops replace the model's, but the token that ends a turn ends it there all the same.
        "stop": [text for text in (*options.stop, *stops) if text],
        # Else a stop sequence that is one special token would be left out of the text before it is looked for.
        "preserved_tokens": list(stops),
    }
    if options.seed is not None:
        body["seed"] = options.seed % _SEEDS
    return body


def parse_event(line: bytes, *, alternatives: int = 0) -> Event | None:
    """Reads one line of a streamed completion; `None` for what carries no text. Raises RunnerFailed for an error."""
    event = event_object(line)
    if event is None:
        return None
    try:
        return end_of(event) if event.get("stop") else _piece(event, alternatives)
    except (TypeError, KeyError, AttributeError):
        raise RunnerFailed(NO_EVENT) from None


def event_object(line: bytes) -> Mapping[str, object] | None:
    """The JSON object that one line of a stream carries, if it does. Raises RunnerFailed for an error."""
    name, _, data = line.strip().partition(b": ")
    if name == b"error":
        raise RunnerFailed(_error_text(data))
    if name != b"data" or data == b"[DONE]":
        return None
    try:
        event = cast("object", orjson.loads(data))
    except orjson.JSONDecodeError:
        raise RunnerFailed(NO_EVENT) from None
    if not isinstance(event, dict):
        raise RunnerFailed(NO_EVENT)
    fields = cast("dict[str, object]", event)
    if "error" in fields:
        raise RunnerFailed(_error_text(data))
    return fields


def refused(status: int, body: bytes) -> Refused:
    """llama.cpp's refusal of a request as Ollama passes it on: its whole body is the sentence."""
    return Refused(status, body.decode("utf-8", errors="replace").strip())


def _piece(event: Mapping[str, object], alternatives: int) -> Piece | None:
    text = cast("str", event.get("content", ""))
    chances = cast("Sequence[Mapping[str, object]]", event.get("completion_probabilities", ()))
    if not text and not chances:
        return None
    return Piece(text, tuple(_chance(each, alternatives) for each in chances))


def _chance(entry: Mapping[str, object], alternatives: int = 0) -> TokenChance:
    others = cast("Sequence[Mapping[str, object]]", entry.get("top_logprobs", ()))
    return TokenChance(
        token=cast("str", entry["token"]),
        logprob=cast("float", entry["logprob"]),
        bytes=tuple(cast("Sequence[int]", entry["bytes"])),
        alternatives=tuple(_chance(each) for each in others[:alternatives]),
    )


def end_of(event: Mapping[str, object]) -> End:
    """The end that a last event tells of, by its `stop_type` and its `timings`."""
    timings = cast("Mapping[str, float]", event["timings"])
    return End(
        reason="length" if event.get("stop_type") == "limit" else "stop",
        text=cast("str", event.get("content", "")),
        prompt_tokens=int(timings["cache_n"] + timings["prompt_n"]),
        prompt_ns=int(timings["prompt_ms"] * 1e6),
        answer_tokens=int(timings["predicted_n"]),
        answer_ns=int(timings["predicted_ms"] * 1e6),
    )


def _error_text(data: bytes) -> str:
    try:
        value = cast("object", orjson.loads(data))
    except orjson.JSONDecodeError:
        value = None
    while isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        value = fields.get("error", fields.get("message"))
    detail = value if isinstance(value, str) else "no reason given"
    return f"an error was encountered while running the model: {detail}"


def _message(message: Message) -> dict[str, object]:
    body: dict[str, object] = {"role": message.role, "content": message.content}
    if message.calls:
        body["tool_calls"] = [_call(call) for call in message.calls]
    if message.tool_name:
        body["name"] = message.tool_name
    if message.tool_call_id:
        body["tool_call_id"] = message.tool_call_id
    return body


def _call(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": orjson.dumps(call.arguments).decode()}
    return {"type": "function", "id": call.id, "function": function}


def _tool(tool: Tool) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
