"""What goes to Mistral: always a `Chat` written out, for callers of OpenAI's dialect too.

Mistral refuses a body with a member that it does not know, and clients send many that are hints, so that the caller's
own body cannot be forwarded. Reading it into `Chat` refuses by name what has an effect that a `Chat` cannot say; what
of a `Chat` Mistral has no word for is refused here. How long a model shall think is a hint that it has no word for, and
the reasoning of earlier turns is not read again. Source: the Mistral API reference, "Chat Completion"; dialects.md §4.
"""

from collections.abc import Callable
from dataclasses import replace

import orjson

from appliance.dialects.call_ids import check_answered
from appliance.dialects.chat import Chat, DialectError, Tool
from appliance.dialects.images import refuse_gifs
from appliance.dialects.leaves import definition
from appliance.dialects.mistral.turns import turns
from appliance.dialects.openai.refusals import refusal
from appliance.dialects.openai.stream import Reader
from appliance.dialects.openai.written import Json, choice, response_format
from appliance.dialects.reminders import folded
from appliance.dialects.upstream import Outgoing

PATH = "/chat/completions"

MAX_SEED = 2**31 - 1
"""Mistral takes no negative seed; one outside of this range stands for the same one inside each time."""


def written(chat: Chat, *, model: str, new_id: Callable[[], str]) -> Outgoing:
    """The body, streamed, and its reader; `new_id` makes the ids of tool calls.

    Raises DialectError naming what Mistral has no word for.
    """
    chat.check_said()
    refuse_gifs(chat, "the provider's models")
    check_answered(chat.messages)
    sampling = chat.sampling
    if sampling.top_k is not None:
        raise DialectError("The provider's models have no `top_k`: leave it out.", "top_k")
    if sampling.top_logprobs is not None:
        raise DialectError("The provider's models give no `logprobs`: leave it out.", "logprobs")
    wishes: Json = {
        "model": model,
        "messages": turns(folded(chat)),
        "stream": True,
        "tools": [_tool(tool) for tool in chat.tools] or None,
        "tool_choice": choice(chat.tool_choice, required="any") if chat.tools else None,
        "parallel_tool_calls": False if chat.tools and not chat.parallel else None,
        "response_format": response_format(chat.format),
        "n": chat.choices if chat.choices > 1 else None,
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
        "random_seed": None if sampling.seed is None else sampling.seed & MAX_SEED,
        "stop": list(sampling.stop) or None,
    }
    body = orjson.dumps({name: value for name, value in wishes.items() if value is not None})
    return Outgoing(PATH, {}, body, lambda: Reader(new_id, choices=chat.choices, parallel=chat.parallel), refusal)


def _tool(tool: Tool) -> Json:
    """Mistral requires `parameters`, and an empty object says that there are none."""
    none: Json = {"type": "object", "properties": {}}
    return definition(replace(tool, parameters=none) if tool.parameters is None else tool)
