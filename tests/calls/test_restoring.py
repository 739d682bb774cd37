import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.restoring import restored
from appliance.dialects.chat import Event, Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from appliance.shield.vault import Vault

TOKEN, VALUE = "[EMAIL_k3j2h4m5]", "jane@example.org"
VAULT = Vault({TOKEN: VALUE})
END = Finish("stop", Usage(1, 1))


async def through(events: Sequence[Event]) -> list[Event]:
    async def come() -> AsyncGenerator[Event, None]:
        for event in events:
            yield event

    return [event async for event in restored(come(), VAULT)]


def text_of(events: Sequence[Event], kind: type = TextDelta, choice: int = 0) -> str:
    return "".join(event.text for event in events if type(event) is kind and event.choice == choice)  # type: ignore[attr-defined]


@given(st.integers(1, 9))
async def test_a_token_may_be_split_anywhere(size: int):
    said = f"Write to {TOKEN}, then rest."
    events = [*(TextDelta(said[i : i + size]) for i in range(0, len(said), size)), END]
    assert text_of(await through(events)) == f"Write to {VALUE}, then rest."


async def test_choices_thoughts_and_texts_are_streams_of_their_own():
    half, rest = TOKEN[:6], TOKEN[6:]
    events = [
        ReasoningDelta(half), ReasoningDelta(rest), TextDelta(half, choice=1), TextDelta(half), TextDelta(rest),
        TextDelta(rest, choice=1), END, Finish("stop", Usage(1, 1), 1),
    ]  # fmt: skip
    got = await through(events)
    assert [text_of(got), text_of(got, choice=1), text_of(got, ReasoningDelta)] == [VALUE] * 3


async def test_what_was_held_back_comes_before_what_follows_it():
    got = await through([TextDelta(f"{TOKEN}"), ToolCallDelta(0, "c", "f", "{}"), END])
    assert [type(event) for event in got] == [TextDelta, ToolCallDelta, Finish]
    assert text_of(got) == VALUE


@pytest.mark.parametrize("value", [VALUE, 'D"Arc\\Lefèvre'])
async def test_arguments_stay_json(value: str):
    async def come() -> AsyncGenerator[Event, None]:
        yield ToolCallDelta(0, "c", "f", f'{{"to":"{TOKEN}"}}')
        yield END

    got = [event async for event in restored(come(), Vault({TOKEN: value}))]
    assert isinstance(got[0], ToolCallDelta)
    assert json.loads(got[0].arguments) == {"to": value}


async def test_leaving_closes_what_is_behind():
    closed: list[bool] = []

    async def come() -> AsyncGenerator[Event, None]:
        try:
            while True:
                yield TextDelta("a")
        finally:
            closed.append(True)

    async with aclosing(restored(come(), VAULT)) as events:
        assert await anext(events) == TextDelta("a")
    assert closed == [True]


async def test_text_goes_on_at_once_until_a_token_may_begin():
    got: list[Event] = []

    async def come() -> AsyncGenerator[Event, None]:
        yield TextDelta("all of this ")
        assert text_of(got) == "all of this "
        yield TextDelta("and [EM")
        assert text_of(got) == "all of this and "
        yield END

    async for event in restored(come(), VAULT):
        got.append(event)  # noqa: PERF401  what came so far is looked at meanwhile
    assert text_of(got) == "all of this and [EM"


async def test_in_a_structured_answer_a_value_is_escaped():
    async def come() -> AsyncGenerator[Event, None]:
        yield TextDelta(f'{{"a":["{TOKEN}"]}}')
        yield END

    for value in ("Jean\tDupont", 'a "b"@example.org', "12\nmars"):
        got = [event async for event in restored(come(), Vault({TOKEN: value}), depth=1)]
        assert json.loads(text_of(got)) == {"a": [value]}


async def test_the_name_of_a_function_is_restored_too():
    got = await through([ToolCallDelta(0, "c", TOKEN, "{}"), END])
    assert isinstance(got[0], ToolCallDelta)
    assert got[0].name == VALUE
