import pytest

from appliance.metering.questions import ModelClass, Rates, is_charged


# routing.md, "Metering": local 0.25, fast 1, full 4; failed is free, cancelled by use.
@pytest.mark.parametrize(("kind", "milli"), [("local", 250), ("fast", 1000), ("full", 4000)])
def test_questions_by_class(kind: ModelClass, milli: int):
    assert Rates().milli(kind) == milli
    assert Rates().milli(kind, 3) == 3 * milli


def test_other_rates():
    assert [Rates(1, 2, 3).milli(kind) for kind in ("local", "fast", "full")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("ending", "tokens", "counts"),
    [
        ("complete", 0, True),
        ("length", 9, True),
        ("context_cut", 9, True),
        ("failed", 9, False),
        ("refused", 0, False),
        ("cancelled", 0, False),
        ("cancelled", 1, True),
    ],
)
def test_what_counts(ending: str, tokens: int, counts: bool):
    assert is_charged(ending=ending, completion_tokens=tokens) == counts
