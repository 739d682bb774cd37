"""The text that an answer's hash is of: the content of all choices, in the order of the choices."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.answer_text import InOrder, answer_text
from appliance.dialects.chat import Event, Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tests.dialects.answers import answers

USAGE = Usage(1, 1)


def concatenated(events: list[Event]) -> str:
    choices = sorted({event.choice for event in events})
    texts = [event for event in events if isinstance(event, TextDelta)]
    return "".join(event.text for choice in choices for event in texts if event.choice == choice)


def test_content_only():
    events = [ReasoningDelta("Hm."), TextDelta("a"), ToolCallDelta(0, "c", "f", "{}"), TextDelta("b")]
    assert answer_text([*events, Finish("tool_calls", USAGE)]) == "ab"


def test_the_text_of_the_first_choice_passes_at_once():
    order = InOrder()
    assert order.feed(TextDelta("b", choice=1)) == ()
    assert order.feed(TextDelta("a")) == ("a",)
    assert order.feed(Finish("stop", USAGE)) == ("b",)
    assert order.feed(TextDelta("B", choice=1)) == ("B",)
    assert order.rest() == ()


@given(answers())
def test_any_mixture_gives_the_same_text(events: list[Event]):
    assert answer_text(events) == concatenated(events)


@given(answers(), st.data())
def test_an_answer_that_broke_off_has_the_text_that_came(events: list[Event], data: st.DataObject):
    some = events[: data.draw(st.integers(0, len(events)))]
    assert answer_text(some) == concatenated(some)


@given(answers())
def test_a_hash_can_be_fed_while_the_answer_arrives(events: list[Event]):
    order, running = InOrder(), hashlib.sha256()
    for event in events:
        for piece in order.feed(event):
            running.update(piece.encode())
    for piece in order.rest():
        running.update(piece.encode())
    assert running.hexdigest() == hashlib.sha256(answer_text(events).encode()).hexdigest()
