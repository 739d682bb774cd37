"""Writes a neutral `Chat` as a Chat Completions body, for callers of another dialect.

What the API has no word for: the reasoning of earlier turns, which models do not read again, is left out; the pictures
of a tool's result follow as a user's turn, behind all results of that turn. Nothing is added that nobody wrote.
Source: the OpenAI API reference, "Create chat completion"; dialects.md §1.1.
"""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from appliance.dialects.call_ids import check_answered, with_ids
from appliance.dialects.chat import Chat, DialectError, Format, Image, Message, Part, Text, ToolCall, ToolChoice
from appliance.dialects.leaves import definition

Json = dict[str, object]

MAX_STOPS = 4
"""OpenAI takes no more stop sequences."""

_THINKS = re.compile(r"(?:^|/)(?:o[1-9]|gpt-oss|gpt-[5-9](?!\d))(?!.*chat)")
"""Names of models that take `reasoning_effort`; others refuse a whole call for what is a hint."""


def body(chat: Chat, *, model: str, compatible: bool) -> Json:
    """The body, streamed. `compatible`: for a server that speaks like OpenAI, which may know only the older
    `max_tokens`, takes more than four stop sequences, and most often a call without a result too.

    Raises DialectError naming what cannot be said.
    """
    chat.check_said()
    sampling = chat.sampling
    if len(sampling.stop) > MAX_STOPS and not compatible:
        raise DialectError(f"The provider takes at most {MAX_STOPS} stop sequences: `stop` has more.", "stop")
    if sampling.top_k is not None and not compatible:
        raise DialectError("The provider's models have no `top_k`: leave it out.", "top_k")
    if not compatible:
        check_answered(chat.messages)
    wishes: Json = {
        "model": model,
        "messages": turns(chat.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [definition(tool) for tool in chat.tools] or None,
        "tool_choice": choice(chat.tool_choice) if chat.tools else None,
        "parallel_tool_calls": False if chat.tools and not chat.parallel else None,
        "response_format": response_format(chat.format),
        "reasoning_effort": chat.effort if _THINKS.search(model) else None,
        "n": chat.choices if chat.choices > 1 else None,
        "max_tokens" if compatible else "max_completion_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
        "top_k": sampling.top_k,
        "logprobs": True if sampling.top_logprobs is not None else None,
        "top_logprobs": sampling.top_logprobs or None,
    }
    return {name: value for name, value in wishes.items() if value is not None}


def turns(messages: Sequence[Message]) -> list[Json]:
    """The `messages`."""
    out: list[Json] = []
    pictures: list[Json] = []
    for message in with_ids(messages):
        if message.role == "tool":
            pictures += parts(one for one in message.parts if isinstance(one, Image))
        elif pictures:
            out.append({"role": "user", "content": pictures})
            pictures = []
        out.append(_turn(message))
    return [*out, {"role": "user", "content": pictures}] if pictures else out


def _turn(message: Message) -> Json:
    if message.role == "tool":
        texts = tuple(part for part in message.told.parts if isinstance(part, Text))
        said = content(replace(message, parts=texts))
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": said}
    if message.tool_calls:
        said = content(message) or None
        return {"role": message.role, "content": said, "tool_calls": [tool_call(one) for one in message.tool_calls]}
    return {"role": message.role, "content": content(message)}


def content(message: Message) -> str | list[Json]:
    """What a turn says: one text as it is, several as one where their dialect has a joint for them, else a list of
    parts, since to join them would write what nobody wrote."""
    kept = [part for part in message.parts if not isinstance(part, Text) or part.text]
    if all(isinstance(part, Text) for part in kept) and (len(kept) < 2 or message.joint):
        return replace(message, parts=tuple(kept)).text
    return parts(kept)


def parts(said: Iterable[Part]) -> list[Json]:
    return [{"type": "text", "text": one.text} if isinstance(one, Text) else _picture(one) for one in said]


def _picture(image: Image) -> Json:
    url = f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def tool_call(call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments if call.arguments.strip() else "{}"}
    return {"id": call.id, "type": "function", "function": function}


def choice(wanted: ToolChoice, *, required: str = "required") -> str | Json | None:
    """None for `auto`, which is what the API does by itself."""
    match wanted.mode:
        case "auto":
            return None
        case "none":
            return "none"
        case "required":
            return required
        case "named":
            return {"type": "function", "function": {"name": wanted.name}}


def response_format(wanted: Format | None) -> Json | None:
    if wanted is None:
        return None
    if wanted.schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": wanted.schema}}
