"""What goes when a conversation is too long. One word is one token here."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.fitting import fit, without_oldest
from appliance.engine.llama import Prompt
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message


def says(role: str, words: int) -> Message:
    return Message(role, " ".join("w" for _ in range(words)))


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
    prompt = await fit(messages, limit, truncate=truncate, render=Template(messages))
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


@given(messages=CONVERSATIONS, limit=st.integers(1, 60))
async def test_the_fewest_messages_go_and_never_the_last(messages: list[Message], limit: int):
    render = Template(messages)
    lengths = [len((await render(without_oldest(messages, count))).tokens) for count in range(len(messages))]
    render.calls = 0
    try:
        tokens = (await fit(messages, limit, truncate=True, render=render)).tokens
    except Refused:
        assert all(length >= limit for length in lengths)
    else:
        assert len(tokens) == next(length for length in lengths if length < limit)
        assert tokens[-1] == len(messages) - 1
    assert render.calls <= 2 + len(messages).bit_length()
