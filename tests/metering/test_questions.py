import pytest

from appliance.metering.questions import ModelClass, Rates, counted


# routing.md, "Metering": local 0.25, fast 1, full 4; failed is free, cancelled by use.
@pytest.mark.parametrize(("kind", "milli"), [("local", 250), ("fast", 1000), ("full", 4000)])
def test_questions_by_class(kind: ModelClass, milli: int):
    assert Rates().milli(kind) == milli
    assert Rates().milli(kind, 3) == 3 * milli


def test_other_rates():
    assert [Rates(1, 2, 3).milli(kind) for kind in ("local", "fast", "full")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("ending", "given", "begun", "counts"),
    [
        ("complete", 0, True, 3),
        ("complete", 0, False, 3),
        ("length", 0, True, 3),
        ("context_cut", 0, True, 3),
        ("failed", 0, True, 0),
        ("failed", 1, True, 1),
        ("failed", 9, True, 3),
        ("refused", 0, False, 0),
        ("refused", 2, True, 2),
        ("cancelled", 0, False, 0),
        ("cancelled", 0, True, 3),
    ],
)
def test_how_many_of_three_answers_count(ending: str, given: int, begun: bool, counts: int):
    assert counted(ending, asked=3, given=given, begun=begun) == counts
