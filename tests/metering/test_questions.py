import pytest

from appliance.metering.questions import QUESTIONS_MILLI, charged


# routing.md, "Metering": local 0.25, fast 1, full 4; failed is free, cancelled by use.
@pytest.mark.parametrize(("kind", "milli"), [("local", 250), ("fast", 1000), ("full", 4000)])
def test_questions_by_class(kind: str, milli: int):
    assert QUESTIONS_MILLI[kind] == milli  # type: ignore[index]  parametrised over the literal's values


@pytest.mark.parametrize(
    ("ending", "tokens", "milli"),
    [
        ("complete", 0, 250),
        ("length", 9, 250),
        ("context_cut", 9, 250),
        ("failed", 9, 0),
        ("refused", 0, 0),
        ("cancelled", 0, 0),
        ("cancelled", 1, 250),
    ],
)
def test_what_a_local_call_is_charged(ending: str, tokens: int, milli: int):
    assert charged("local", ending=ending, completion_tokens=tokens) == milli
