import pytest

from appliance.admin import ledger_wire, node_wire
from tui import look


@pytest.mark.parametrize(
    "word",
    [*ledger_wire.ENDINGS, *node_wire.NodeState.__args__, "active", "expired", "revoked", "ok", "bad", "missing"],
)
def test_every_state_is_a_glyph_and_a_word(word: str):
    glyph, _, shown = look.state(word).partition(" ")
    assert len(glyph) == 1
    assert glyph != "·", "a state of its own has a glyph of its own"
    assert shown == word.replace("_", " ")


def test_good_and_bad_differ_in_more_than_colour():
    assert look.state("complete")[0] != look.state("failed")[0]
    assert look.state("left")[0] != look.state("stayed")[0]
    assert look.state("active")[0] != look.state("unhealthy")[0]


@pytest.mark.parametrize(
    ("part", "shown"),
    [(0, ""), (1, "████"), (0.5, "██"), (0.25 + 1 / 32, "█▏"), (1e-9, "▏"), (2, "████"), (-1, "")],
)
def test_bars_are_exact_to_an_eighth_and_never_hide_something(part: float, shown: str):
    assert look.bar(part, 4) == shown


def test_a_short_moment_is_in_utc_like_every_other():
    assert look.short_moment("2026-11-29T18:57:03.120Z") == "11-29 18:57"
    assert look.short_moment(None) == "–"
