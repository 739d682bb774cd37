import pytest

from appliance import errors
from appliance.errors import BadRequest, SynapseError


def kinds() -> list[type[SynapseError]]:
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SynapseError)]


def test_the_tree_in_the_docstring_is_the_tree():
    page = errors.__doc__ or ""
    for kind in kinds():
        assert kind.__name__ in page


def test_message_and_advice_read_as_one_line():
    assert str(BadRequest("It is wrong.", advice="Mend it.")) == "It is wrong. Mend it."
    assert str(BadRequest("It is wrong.")) == "It is wrong."
    assert BadRequest("It is wrong.", param="messages").param == "messages"


@pytest.mark.parametrize(
    ("message", "advice", "said"),
    [
        ("It broke.", "Try again.", "It broke. Try again."),
        ("it said: no such model", "Get it.", "it said: no such model. Get it."),
        ("Is it there?", "Look.", "Is it there? Look."),
        ("no full stop", "", "no full stop"),
    ],
)
def test_message_and_advice_are_two_sentences(message: str, advice: str, said: str):
    assert str(errors.SynapseError(message, advice=advice)) == said
