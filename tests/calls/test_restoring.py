import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.restoring import restored
from appliance.dialects.chat import (
    BlockEnd,
    Event,
    Finish,
    OwnBlock,
    OwnDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from appliance.shield.vault import Vault

TOKEN, VALUE = "[EMAIL_k3j2h4m5]", "jane@example.org"
VAULT = Vault({TOKEN: VALUE})
END = Finish("stop", Usage(1, 1))


async def through(events: Sequence[Event], *, thoughts: bool = True) -> list[Event]:
    async def come() -> AsyncGenerator[Event, None]:
        for event in events:
            yield event

    return [event async for event in restored(come(), VAULT, thoughts=thoughts)]


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


class TestWhatOnlyOneDialectSays:
    async def test_thoughts_that_are_signed_stay_as_they_came_piece_by_piece(self):
        # dialects.md §1.2: they go back to their provider byte for byte.
        half, rest = TOKEN[:6], TOKEN[6:]
        signature = OwnDelta('{"type":"signature_delta","signature":"c2ln"}', sealed=True)
        thought = [ReasoningDelta("Of "), ReasoningDelta(half), ReasoningDelta(rest), signature]
        got = await through([*thought, BlockEnd(), TextDelta(half), TextDelta(rest), END], thoughts=False)
        assert got[: len(thought)] == thought
        assert text_of(got) == VALUE

    async def test_text_that_waits_comes_before_a_thought_that_stays(self):
        got = await through([TextDelta(TOKEN), ReasoningDelta(TOKEN), TextDelta("b"), END], thoughts=False)
        said = [(type(event), event.text) for event in got if isinstance(event, TextDelta | ReasoningDelta)]
        assert said == [(TextDelta, VALUE), (ReasoningDelta, TOKEN), (TextDelta, "b")]

    async def test_thoughts_of_other_dialects_are_restored(self):
        assert text_of(await through([ReasoningDelta(TOKEN), END]), ReasoningDelta) == VALUE

    @pytest.mark.parametrize("value", [VALUE, 'D"Arc\\Lefèvre', "12\nmars"])
    @pytest.mark.parametrize("kind", [OwnBlock, OwnDelta])
    async def test_what_is_not_sealed_is_restored_and_stays_json(self, kind: type[OwnBlock | OwnDelta], value: str):
        async def come() -> AsyncGenerator[Event, None]:
            yield kind(f'{{"type":"x","deep":[{{"cited_text":"To {TOKEN}."}}]}}', choice=1)
            yield END

        got = [event async for event in restored(come(), Vault({TOKEN: value}))]
        assert isinstance(got[0], kind)
        assert json.loads(got[0].json) == {"type": "x", "deep": [{"cited_text": f"To {value}."}]}
        assert (got[0].choice, got[0].sealed) == (1, False)

    @pytest.mark.parametrize("thoughts", [False, True])
    @pytest.mark.parametrize("kind", [OwnBlock, OwnDelta])
    async def test_what_is_sealed_stays_as_it_came(self, kind: type[OwnBlock | OwnDelta], thoughts: bool):
        event = kind(f'{{"data":"{TOKEN}"}}', sealed=True)
        assert (await through([event, END], thoughts=thoughts))[0] == event

    @pytest.mark.parametrize("next_one", [BlockEnd(), OwnBlock("{}"), OwnDelta("{}", sealed=True), END])
    async def test_what_waits_comes_before_what_ends_it(self, next_one: Event):
        for begun in (TextDelta("a [EM"), ReasoningDelta("a [EM")):
            got = await through([begun, next_one, END])
            before = got[: got.index(next_one)]
            assert [type(each) for each in before] == [type(begun)] * 2
            assert "".join(each.text for each in before if isinstance(each, type(begun))) == "a [EM"

    async def test_a_token_does_not_go_on_in_the_next_block(self):
        got = await through([TextDelta(TOKEN[:6]), BlockEnd(), TextDelta(TOKEN[6:]), END])
        assert got[1:2] == [BlockEnd()]
        assert text_of(got) == TOKEN

    async def test_the_end_of_a_block_of_one_choice_lets_the_others_wait(self):
        got = await through([TextDelta(TOKEN[:6]), BlockEnd(choice=1), TextDelta(TOKEN[6:]), END])
        assert got[0] == BlockEnd(choice=1)
        assert text_of(got) == VALUE

    @pytest.mark.parametrize(("sequence", "told"), [(TOKEN, VALUE), (f"# {TOKEN}", f"# {VALUE}"), ("END", "END")])
    async def test_the_sequence_that_stopped_it_is_the_caller_s_own(self, sequence: str, told: str):
        end = Finish("stop", Usage(3, 4), stated="stop_sequence", stop_sequence=sequence)
        assert await through([end]) == [Finish("stop", Usage(3, 4), stated="stop_sequence", stop_sequence=told)]

    async def test_an_end_without_one_stays_as_it_came(self):
        end = Finish("length", Usage(3, 4), 1, stated="max_tokens")
        assert await through([end]) == [end]

    @pytest.mark.parametrize("kind", [OwnBlock, OwnDelta])
    @pytest.mark.parametrize("value", [VALUE, 'D"Arc\\Lefèvre', "12\nmars"])
    async def test_what_its_provider_wants_back_stays_in_it_byte_for_byte(
        self, kind: type[OwnBlock | OwnDelta], value: str
    ):
        sealed = f"EqgfCio/{TOKEN}/IARgB"

        def written(said: str) -> str:
            found = {"title": said, "encrypted_content": sealed, "deep": json.dumps([said], ensure_ascii=False)}
            return json.dumps({"content": [found, 1.0]})

        async def come() -> AsyncGenerator[Event, None]:
            yield kind(written(f"To {TOKEN}."), kept=(sealed,))
            yield END

        got = [event async for event in restored(come(), Vault({TOKEN: value}))]
        assert isinstance(got[0], kind)
        assert json.loads(got[0].json) == json.loads(written(f"To {value}."))

    async def test_documents_too_deep_to_be_read_stay_as_they_came(self):
        deep = json.dumps([TOKEN])
        for _ in range(18):
            deep = json.dumps([deep])
        event = OwnBlock(json.dumps({"a": deep}), kept=("x",))
        assert (await through([event, END]))[0] == event


class TestInTheMiddleOfAText:
    """Anthropic's `citations_delta` may come between any two pieces of one text (its documentation, "Citations")."""

    ADDED = OwnDelta('{"type":"citations_delta","citation":{"cited_text":"c"}}')

    @given(st.lists(st.integers(0, 40), max_size=4), st.integers(1, 9))
    async def test_what_is_added_splits_no_token(self, places: list[int], size: int):
        said = f"Write to {TOKEN}, then rest. [EM"
        pieces: list[Event] = [TextDelta(said[i : i + size]) for i in range(0, len(said), size)]
        for place in sorted(places, reverse=True):
            pieces.insert(min(place, len(pieces)), self.ADDED)
        got = await through([*pieces, BlockEnd(), END])
        assert text_of(got) == f"Write to {VALUE}, then rest. [EM"
        assert [event for event in got if not isinstance(event, TextDelta)] == [
            *[self.ADDED] * len(places),
            BlockEnd(),
            END,
        ]

    @pytest.mark.parametrize(
        ("events", "expected"),
        [
            # Whole, or no token after all, or nothing that could be one.
            (["A [EM", ADDED, "AIL_k3j2h4m5] z"], ["A ", f"{VALUE} z", ADDED]),
            (["A [EM", ADDED, "PTY] z"], ["A ", "[EMPTY] z", ADDED]),
            (["A b.", ADDED, " c."], ["A b.", ADDED, " c."]),
            ([ADDED, "A b."], [ADDED, "A b."]),
            # It waits for what was begun before it alone.
            (["A [EM", ADDED, "PTY] [EM", ADDED], ["A ", "[EMPTY] ", ADDED, "[EM", ADDED]),
            (["A [EM", ADDED, ADDED], ["A ", "[EM", ADDED, ADDED]),
        ],
    )
    async def test_it_waits_no_longer_than_it_has_to(self, events: list[str | Event], expected: list[str | Event]):
        def told(some: list[str | Event]) -> list[Event]:
            return [TextDelta(each) if isinstance(each, str) else each for each in some]

        assert await through([*told(events), BlockEnd(), END]) == [*told(expected), BlockEnd(), END]

    async def test_what_is_added_is_restored_too(self):
        added = OwnDelta(f'{{"cited_text":"{TOKEN}"}}')
        got = await through([TextDelta("[EM"), added, TextDelta("x"), END])
        assert got[1] == OwnDelta(f'{{"cited_text":"{VALUE}"}}')

    async def test_the_texts_of_other_choices_do_not_hold_it(self):
        got = await through([TextDelta("[EM", choice=1), self.ADDED, END])
        assert got[0] == self.ADDED

    async def test_an_address_that_leads_out_goes_on_behind_it(self):
        # A host that the call did not name gets no value.
        got = await through([TextDelta("[a](https://evil.example/"), self.ADDED, TextDelta(f"{TOKEN})"), END])
        assert text_of(got) == f"[a](https://evil.example/{TOKEN})"
