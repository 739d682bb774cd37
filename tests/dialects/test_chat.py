"""The neutral form: what nobody said is not there."""

import dataclasses

import pytest

from appliance.dialects.chat import Chat, DialectError, Image, Message, Sampling, Text, ToolChoice


def test_nothing_is_wanted_by_default():
    chat = Chat((Message("user", (Text("hi"),)),))
    assert set(dataclasses.asdict(chat.sampling).values()) == {None, ()}
    assert (chat.tools, chat.tool_choice, chat.format, chat.effort) == ((), ToolChoice("auto"), None, None)
    assert (chat.choices, chat.parallel) == (1, True)


def test_the_text_of_a_turn_is_that_of_its_parts_and_nothing_more():
    assert Message("user", (Text("a"), Image(b"\x89PNG", "image/png"), Text("b\n"))).text == "ab\n"
    assert Message("assistant").text == ""


def test_stages_cannot_change_what_they_are_given():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sampling().seed = 1


def test_an_error_says_what_and_where():
    error = DialectError("`seed` must be an integer.", "seed")
    assert (str(error), error.message, error.param) == (
        "`seed` must be an integer.",
        "`seed` must be an integer.",
        "seed",
    )
    assert DialectError("The request body is empty.").param is None
