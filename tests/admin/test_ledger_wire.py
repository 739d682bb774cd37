import orjson
import pytest

from appliance.admin import ledger_wire, wire
from appliance.admin.ledger_wire import CallsQuestion, SumsQuestion, Which
from appliance.store import rollups


@pytest.mark.parametrize(
    "shape",
    [
        CallsQuestion(Which(since="2026-11-29T00:00:00Z", ending="complete"), 5, "1-2", oldest_first=True),
        SumsQuestion(Which(key="k"), "day"),
        SumsQuestion(Which(left=False), "left"),
        ledger_wire.CallsPage((), "1-2"),
        ledger_wire.Sums((ledger_wire.Sum("a", *range(1, 10), None, ledger_wire.Percentiles(1, 2, 3, 4)),)),
    ],
)
def test_what_is_said_arrives(shape: object):
    assert wire.decode(type(shape), orjson.loads(orjson.dumps(wire.encode(shape)))) == shape


def test_a_word_that_is_no_ending_is_refused():
    with pytest.raises(wire.InvalidInput, match="ending"):
        wire.decode(CallsQuestion, {"which": {"ending": "done"}})


def test_left_is_true_or_false():
    with pytest.raises(wire.InvalidInput, match="left"):
        wire.decode(CallsQuestion, {"which": {"left": 1}})


def test_the_groups_are_those_of_the_roll_ups():
    assert set(ledger_wire.BY) == set(rollups.By.__args__)  # type: ignore[attr-defined]  of a Literal
