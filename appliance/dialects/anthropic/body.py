"""Writes a `Chat` as the body of Anthropic's `POST /v1/messages`, together with the reader of its answer.

What the API cannot do is refused by its name in the caller's dialect, never dropped; what it does by itself is not
sent. Source: dialects.md §1.1 and §1.2; the types of PyPI `anthropic` 2.14.0.
"""

from collections.abc import Callable

import orjson

from appliance.dialects.anthropic.refusals import refusal
from appliance.dialects.anthropic.stream import Reader
from appliance.dialects.anthropic.tools import Offer, offer
from appliance.dialects.anthropic.turns import conversation
from appliance.dialects.chat import Chat, DialectError, Effort, Sampling
from appliance.dialects.upstream import Outgoing

PATH = "/v1/messages"

VERSION = "2023-06-01"
"""The `anthropic-version` whose bodies these are. It has `temperature` and `top_p`, which newer ones do not list."""

DEFAULT_MAX_TOKENS = 32_000
"""Of an answer whose caller set no ceiling, since the API demands one: what Claude Code asks for, and half of the least
that any model of Claude 4.5 and later allows. What the model thinks counts too."""

MAX_TEMPERATURE = 1.0

_EFFORTS: dict[Effort, str] = {
    "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max",
}  # fmt: skip

Json = dict[str, object]


def written(
    chat: Chat, *, model: str, new_id: Callable[[], str], default_max_tokens: int = DEFAULT_MAX_TOKENS
) -> Outgoing:
    """The call, always streamed. `new_id` makes the ids of the answer's tool calls.

    Raises DialectError naming what the API cannot do.
    """
    chat.check_said()
    _refuse_impossible(chat)
    told = conversation(chat.messages)
    offered = offer(chat, told.called)
    body: Json = {"model": model, "max_tokens": chat.sampling.max_tokens or default_max_tokens}
    if told.system:
        body["system"] = told.system
    sampling = _sampling(chat.sampling)
    body |= {"messages": told.messages, **offered.fields, **sampling}
    # Neither before a call that it has to make, nor with a sampling of the caller's can the model think.
    body |= _effort(chat.effort, offered, may_think=not (offered.forced or {"temperature", "top_p"} & sampling.keys()))
    body["stream"] = True
    headers = {"anthropic-version": VERSION}
    return Outgoing(PATH, headers, orjson.dumps(body), lambda: Reader(new_id, answer_tool=offered.answer_tool), refusal)


def _refuse_impossible(chat: Chat) -> None:
    sampling = chat.sampling
    impossible = {
        "n": chat.choices > 1,
        "logprobs": sampling.top_logprobs is not None,
        "seed": sampling.seed is not None,
        "frequency_penalty": bool(sampling.frequency_penalty),
        "presence_penalty": bool(sampling.presence_penalty),
    }
    for param, asked in impossible.items():
        if asked:
            raise DialectError(
                f"Anthropic's models have no `{param}`: leave it out, or ask for a model of another provider.", param
            )
    if sampling.temperature is not None and sampling.temperature > MAX_TEMPERATURE:
        raise DialectError(
            f"`temperature` must be between 0 and {MAX_TEMPERATURE:g} for Anthropic's models.", "temperature"
        )
    if any(not sequence.strip() for sequence in sampling.stop):
        raise DialectError("`stop` must have more than whitespace in every sequence for Anthropic's models.", "stop")


def _sampling(sampling: Sampling) -> Json:
    """What differs from what the API does by itself, since newer models take no other values than those."""
    wishes: Json = {
        "stop_sequences": list(sampling.stop) or None,
        "temperature": None if sampling.temperature == MAX_TEMPERATURE else sampling.temperature,
        "top_p": None if sampling.top_p == 1 else sampling.top_p,
        "top_k": sampling.top_k,
    }
    sent = {name: value for name, value in wishes.items() if value is not None}
    if {"temperature", "top_p"} <= sent.keys():
        raise DialectError("`temperature` and `top_p` do not go together for Anthropic's models: send one.", "top_p")
    return sent


def _effort(effort: Effort | None, offered: Offer, *, may_think: bool) -> Json:
    output: Json = {} if offered.format is None else {"format": offered.format}
    wishes: Json = {}
    if effort == "none":
        wishes["thinking"] = {"type": "disabled"}
    elif effort is not None:
        output["effort"] = _EFFORTS[effort]
        if may_think:
            wishes["thinking"] = {"type": "adaptive"}
    return wishes | {"output_config": output} if output else wishes
