import pytest

from appliance.admin import values
from tui.widgets.reading import optional, problem

READS = {"rpm": ("Rate", values.count), "ceiling": ("Ceiling", values.milli_questions)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rpm": "", "ceiling": ""}, ""),
        ({"rpm": "30", "ceiling": "12.5"}, ""),
        ({"rpm": "0", "ceiling": ""}, "Rate: a whole number above zero."),
        (
            {"rpm": "", "ceiling": "x"},
            "Ceiling: a number of questions, with up to three decimals,",
        ),
    ],
)
def test_the_first_that_makes_no_sense_is_named(given: dict[str, str], said: str):
    assert problem(given, READS).startswith(said)
    assert bool(problem(given, READS)) == bool(said)


def test_an_empty_field_is_none():
    assert optional("", values.count) is None
    assert optional("30", values.count) == 30
