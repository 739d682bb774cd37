"""Makes a conversation fit the context: Ollama's `truncate`, without its silent cut inside a message.

Whole messages go, the oldest first; system messages and the last message stay. Where even that does not fit, Ollama
cuts the middle out of the prompt without a word; the engine refuses instead, with the error that Ollama gives for
`truncate: false`. It must not know how text becomes tokens: that is passed in.
"""

from collections.abc import Awaitable, Callable, Sequence

from appliance.engine.llama import Prompt
from appliance.engine.refusal import context_exceeded
from appliance.engine.requests import Message

Render = Callable[[Sequence[Message]], Awaitable[Prompt]]
"""The prompt that the model's chat template makes of these messages."""


async def fit(messages: Sequence[Message], limit: int, *, truncate: bool, render: Render) -> Prompt:
    """The prompt, of at most `limit - 1` tokens so that at least one token of answer has room.

    Raises Refused (400, the recorded overflow error) if the conversation does not fit.
    """
    whole = await render(messages)
    if len(whole.tokens) < limit:
        return whole
    if not truncate or len(messages) == 1:
        raise context_exceeded(len(whole.tokens), limit)
    last = len(messages) - 1
    best = await render(without_oldest(messages, last))
    if len(best.tokens) >= limit:
        raise context_exceeded(len(best.tokens), limit)
    # Dropping more never makes a prompt longer, so the fewest messages to drop can be found by halving.
    too_few, enough = 0, last
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        shorter = await render(without_oldest(messages, middle))
        if len(shorter.tokens) < limit:
            enough, best = middle, shorter
        else:
            too_few = middle
    return best


def without_oldest(messages: Sequence[Message], count: int) -> list[Message]:
    """All but the first `count` messages, whose system messages stay in front."""
    return [message for message in messages[:count] if message.role == "system"] + list(messages[count:])
