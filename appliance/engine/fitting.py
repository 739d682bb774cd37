"""Makes a conversation fit the context: Ollama's `truncate`, without its silent cut inside a message.

Whole messages go, the oldest first; system messages and the last message stay. Where even that does not fit, Ollama
cuts the middle out of the prompt without a word; the engine refuses instead, with the error that Ollama gives for
`truncate: false`. It must not know how text becomes tokens: that is passed in.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from appliance.engine.aside import LARGE, aside
from appliance.engine.llama import Prompt
from appliance.engine.refusal import context_exceeded
from appliance.engine.requests import Message

MESSAGE_SIZE = 32
"""Characters of text whose work for llama.cpp is that of a message around them."""

Render = Callable[[Sequence[Message]], Awaitable[Prompt]]
"""The prompt that the model's chat template makes of these messages."""


@dataclass(frozen=True, slots=True)
class Least:
    """The fewest tokens that a message can have, and those that a conversation has beside its messages."""

    of: Callable[[Message], int]
    beside: int = 0


async def fit(messages: Sequence[Message], limit: int, *, truncate: bool, render: Render, least: Least) -> Prompt:
    """The prompt, of at most `limit - 1` tokens so that at least one token of answer has room.

    What is large and surely too long is not rendered. Raises Refused (400, the recorded overflow error) if it does
    not fit, with the number of its tokens, or the fewest that they can be.
    """
    last = len(messages) - 1 if truncate else 0
    size = sum(len(message.content) + MESSAGE_SIZE for message in messages)
    start = await aside(size, _surely_gone, messages, limit, last, least) if size >= LARGE else 0
    best = await render(without_oldest(messages, start))
    if len(best.tokens) < limit:
        return best
    if start < last:
        best = await render(without_oldest(messages, last))
    if len(best.tokens) >= limit:
        raise context_exceeded(len(best.tokens), limit)
    # Dropping more never makes a prompt longer, so the fewest messages to drop can be found by halving.
    too_few, enough = start, last
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        shorter = await render(without_oldest(messages, middle))
        if len(shorter.tokens) < limit:
            enough, best = middle, shorter
        else:
            too_few = middle
    return best


def _surely_gone(messages: Sequence[Message], limit: int, last: int, least: Least) -> int:
    """How many messages have to go at least, of which `last` may go. Raises Refused where even that is too few."""
    weights = [least.of(message) for message in messages]
    tokens = least.beside + sum(weights)
    gone = 0
    while tokens >= limit and gone < last:
        tokens -= 0 if messages[gone].role == "system" else weights[gone]
        gone += 1
    if tokens >= limit:
        raise context_exceeded(tokens, limit)
    return gone


def without_oldest(messages: Sequence[Message], count: int) -> list[Message]:
    """All but the first `count` messages, whose system messages stay in front."""
    return [message for message in messages[:count] if message.role == "system"] + list(messages[count:])
