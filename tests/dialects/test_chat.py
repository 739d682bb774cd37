"""The neutral form: what nobody said is not there."""

import dataclasses

import pytest

from appliance.dialects.chat import Chat, DialectError, Message, Sampling


def test_nothing_is_sampled_by_default():
    assert set(dataclasses.asdict(Chat((Message("user", "hi"),)).sampling).values()) == {None, ()}


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
