"""Writes a `Chat` as the body of Ollama's `/api/chat`, together with the reader of the one answer to it."""

import base64
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from appliance.dialects.chat import Chat, Effort, Image, Message, Sampling, Tool, ToolCall
from appliance.dialects.images import refuse_gifs
from appliance.dialects.jsonobject import played_back
from appliance.dialects.ollama.forced import forced
from appliance.dialects.ollama.lines import Reader
from appliance.dialects.ollama.tools import definitions
from appliance.dialects.reminders import folded

MAX_PREDICT = 2**31 - 1
"""llama.cpp counts tokens in 32 bits; no model's context is as long, so that a larger ceiling means the same."""

_THINK: dict[Effort, bool | str] = {
    "none": False, "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "max", "max": "max",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """A model on a machine.

    `capabilities` are Ollama's words (`/api/show`). `num_ctx` is the one context length of this model there: another
    value would reload it. `keep_alive` is Ollama's (`"5m"`, seconds, -1, 0).
    """

    model: str
    capabilities: frozenset[str] = frozenset()
    num_ctx: int | None = None
    keep_alive: str | int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """One answer's body, what reads the lines that come back, and the field that the body's `format` comes from."""

    body: bytes
    reader: Reader
    format_from: str | None = None


def prepare(
    chat: Chat,
    target: Target,
    *,
    new_id: Callable[[], str],
    choice: int = 0,
    seed: int | None = None,
    again: bool = False,
) -> Prepared:
    """The body of one choice of a chat, always streamed and never silently cut, and its reader.

    `new_id` makes the ids of tool calls. `seed` is that of a call for several choices whose caller set none; without
    it the server draws one for each. `again` is the second try of a structured answer: then its format binds, even if
    no tool can be called for that.
    What the caller did not set is left to the model's own defaults.

    Raises DialectError naming a tool whose schema cannot be written, a GIF, or what a `Chat` could not say of the call.
    """
    chat.check_said()
    refuse_gifs(chat, "the models of this installation")
    demanded, offered = forced(chat), offers(chat)
    format_from: str | None = None
    body: dict[str, object] = {"model": target.model, "messages": [_message(one.told) for one in folded(chat)]}
    if demanded:
        body["format"] = demanded.schema()
        format_from = "tool_choice"
    elif chat.format and (again or not offered):
        body["format"] = "json" if chat.format.schema is None else chat.format.schema
        format_from = "response_format"
    elif offered:
        # Without the format: it would bind every word of the answer, so that no tool could be called.
        body["tools"] = definitions(offered)
    body |= {"stream": True, "truncate": False} | _wishes(chat, target, choice, seed)
    reader = Reader(demanded, new_id, parallel=chat.parallel, choice=choice)
    return Prepared(orjson.dumps(body), reader, format_from)


def offers(chat: Chat) -> tuple[Tool, ...]:
    """The tools that the model is told of: none where it may not choose."""
    return chat.tools if chat.tool_choice.mode == "auto" else ()


def needs(chat: Chat) -> frozenset[str]:
    """The capabilities, beside `completion`, that a model must have to answer the chat at all."""
    pictures = any(isinstance(part, Image) for message in chat.messages for part in message.parts)
    return frozenset(name for name, needed in (("vision", pictures), ("tools", bool(offers(chat)))) if needed)


def _message(message: Message) -> dict[str, object]:
    """One turn, all parts in one: the server would take several for several turns."""
    out: dict[str, object] = {"role": message.role, "content": message.text}
    images = [base64.b64encode(part.data).decode() for part in message.parts if isinstance(part, Image)]
    more = {
        "thinking": message.reasoning,
        "images": images,
        "tool_calls": [_tool_call(i, call) for i, call in enumerate(message.tool_calls)],
        "tool_name": message.tool_name,
        "tool_call_id": message.tool_call_id,
    }
    return out | {name: value for name, value in more.items() if value}


def _tool_call(index: int, call: ToolCall) -> dict[str, object]:
    function = {"index": index, "name": call.name, "arguments": played_back(call.arguments)}
    return {"id": call.id, "function": function} if call.id else {"function": function}


def _wishes(chat: Chat, target: Target, choice: int, seed: int | None) -> dict[str, object]:
    sampling = chat.sampling
    thinks = "thinking" in target.capabilities and chat.effort is not None
    wishes: dict[str, object] = {
        "options": _options(sampling, target.num_ctx, seed_of(chat, choice, seed)) or None,
        "keep_alive": target.keep_alive,
        "think": _THINK[chat.effort] if thinks and chat.effort else None,
        "logprobs": True if sampling.top_logprobs is not None else None,
        "top_logprobs": sampling.top_logprobs or None,
    }
    return {name: value for name, value in wishes.items() if value is not None}


def seed_of(chat: Chat, choice: int, drawn: int | None) -> int | None:
    """Another one for each choice: the same seed would give the same answer again. `drawn` is that of a call for
    several choices whose caller set none."""
    base = drawn if chat.sampling.seed is None and chat.choices > 1 else chat.sampling.seed
    if base is None:
        return None
    # Kept within Go's `int`, at whose end it begins again.
    return (base + choice + 2**63) % 2**64 - 2**63


def _options(sampling: Sampling, num_ctx: int | None, seed: int | None) -> dict[str, object]:
    options: dict[str, object] = {
        "num_ctx": num_ctx,
        "num_predict": None if sampling.max_tokens is None else min(sampling.max_tokens, MAX_PREDICT),
        "stop": sampling.stop or None,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "seed": seed,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
    }
    return {name: value for name, value in options.items() if value is not None}
