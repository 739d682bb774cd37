"""What goes when a conversation is too long. One word is one token here."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.aside import LARGE
from appliance.engine.fitting import Least, fit, without_oldest
from appliance.engine.llama import Prompt
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message


def says(role: str, words: int) -> Message:
    return Message(role, " ".join("w" for _ in range(words)))


NOTHING = Least(lambda _: 0)
"""Nothing is known of how many tokens a message has."""


class Template:
    """A token per word and one per message; the token names the message's place in the conversation."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._places = {id(message): place for place, message in enumerate(messages)}
        self.calls = 0

    async def __call__(self, messages: Sequence[Message]) -> Prompt:
        self.calls += 1
        tokens = [self._places[id(each)] for each in messages for _ in range(1 + len(each.content.split()))]
        return Prompt("", tokens, tuple(messages))


async def fitted(messages: Sequence[Message], limit: int, *, truncate: bool = True) -> list[int]:
    prompt = await fit(messages, limit, truncate=truncate, render=Template(messages), least=NOTHING)
    assert len(prompt.messages) == len(set(prompt.tokens))
    return prompt.tokens


async def test_what_fits_is_left_alone():
    assert await fitted([says("user", 3)], 5) == [0, 0, 0, 0]


async def test_at_least_one_token_is_left_for_the_answer():
    with pytest.raises(Refused, match="4 tokens"):
        await fitted([says("user", 3)], 4)


async def test_the_oldest_messages_go_first_and_whole():
    messages = [says("user", 4), says("assistant", 4), says("user", 4)]
    assert set(await fitted(messages, 16)) == {0, 1, 2}
    assert set(await fitted(messages, 15)) == {1, 2}
    assert set(await fitted(messages, 10)) == {2}


async def test_system_messages_stay():
    messages = [says("user", 4), says("system", 2), says("user", 4), says("user", 4)]
    assert set(await fitted(messages, 14)) == {1, 2, 3}
    assert set(await fitted(messages, 13)) == {1, 3}


async def test_nothing_goes_without_leave():
    with pytest.raises(Refused) as caught:
        await fitted([says("user", 4), says("user", 4)], 10, truncate=False)
    assert caught.value.status == 400
    assert '"n_prompt_tokens":10,"n_ctx":10' in caught.value.message


async def test_a_last_message_that_does_not_fit_is_refused_and_not_cut():
    with pytest.raises(Refused, match=r"request \(21 tokens\)"):
        await fitted([says("user", 4), says("user", 20)], 20)


def test_without_oldest():
    a, s, b = says("user", 1), says("system", 1), says("user", 1)
    assert without_oldest([a, s, b], 0) == [a, s, b]
    assert without_oldest([a, s, b], 1) == [s, b]
    assert without_oldest([a, s, b], 2) == [s, b]


CONVERSATIONS = st.lists(
    st.builds(says, st.sampled_from(["system", "user", "assistant"]), st.integers(0, 9)), min_size=1
)


@given(messages=CONVERSATIONS, limit=st.integers(1, 60), known=st.integers(0, 10))
async def test_the_fewest_messages_go_and_never_the_last(messages: list[Message], limit: int, known: int):
    """Whatever is known beforehand of the number of tokens, which large conversations are held against first."""
    messages = [replace(message, content=message.content + " " * LARGE) for message in messages]
    render = Template(messages)
    lengths = [len((await render(without_oldest(messages, count))).tokens) for count in range(len(messages))]
    render.calls = 0
    try:
        least = Least(lambda message: min(known, 1 + len(message.content.split())))
        tokens = (await fit(messages, limit, truncate=True, render=render, least=least)).tokens
    except Refused:
        assert all(length >= limit for length in lengths)
    else:
        assert len(tokens) == next(length for length in lengths if length < limit)
        assert tokens[-1] == len(messages) - 1
    assert render.calls <= 2 + len(messages).bit_length()


class Seen(Template):
    """Remembers the most messages that it was given at once."""

    most = 0

    async def __call__(self, messages: Sequence[Message]) -> Prompt:
        self.most = max(self.most, len(messages))
        return await super().__call__(messages)


ONE_EACH = Least(lambda _: 1)


async def test_what_is_surely_too_long_is_not_rendered():
    messages = [says("user", 0)] * 5000
    render = Seen(messages)
    with pytest.raises(Refused, match=r"request \(5000 tokens\).*\(100 tokens\)"):
        await fit(messages, 100, truncate=False, render=render, least=ONE_EACH)
    with pytest.raises(Refused, match=r"request \(101 tokens\)"):
        await fit(messages, 100, truncate=True, render=render, least=Least(lambda _: 1, beside=100))
    assert render.calls == 0


async def test_old_messages_that_surely_go_are_not_rendered():
    messages = [says("system", 0), *([says("user", 0)] * 5000)]
    render = Seen(messages)
    prompt = await fit(messages, 100, truncate=True, render=render, least=ONE_EACH)
    assert len(prompt.messages) == 99
    assert prompt.messages[0].role == "system"
    assert render.most == 99


async def test_system_messages_that_are_surely_too_many_are_refused():
    messages = [says("system", 0)] * 5000
    render = Seen(messages)
    with pytest.raises(Refused, match=r"request \(5000 tokens\)"):
        await fit(messages, 100, truncate=True, render=render, least=ONE_EACH)
    assert render.calls == 0
