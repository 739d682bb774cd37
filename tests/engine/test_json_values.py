"""JSON values. Source: JSON Schema, draft 2020-12, section 4.2 of its core."""

import orjson
import pytest

from appliance.engine.json_values import KINDS, is_a, is_too_deep, same


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (None, None, True),
        (None, False, False),
        ("1", 1, False),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({"a": True}, {"a": 1}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([], {}, False),
    ],
)
def test_equality(first: object, second: object, equal: bool):
    spent: list[int] = []
    assert same(first, second, spent.append) is equal
    assert same(second, first, spent.append) is equal
    assert spent


def test_comparing_ends_when_the_work_is_too_much():
    class Enough(Exception):
        pass

    left = [10]

    def spend(steps: int) -> None:
        left[0] -= steps
        if left[0] < 0:
            raise Enough

    with pytest.raises(Enough):
        same([[1, 2]] * 100, [[1, 2]] * 100, spend)


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (True, {"boolean"}),
        (1, {"integer", "number"}),
        (1.0, {"integer", "number"}),
        (1.5, {"number"}),
        ("a", {"string"}),
        (None, {"null"}),
        ([], {"array"}),
        ({}, {"object"}),
    ],
)
def test_types(value: object, kinds: set[str]):
    assert {kind for kind in KINDS if is_a(value, kind)} == kinds


def test_what_is_not_too_deep_can_be_written_inside_of_an_answer():
    def nested(levels: int) -> object:
        return orjson.loads("[" * levels + "]" * levels)

    deepest = max(levels for levels in range(1, 1000) if not is_too_deep(nested(levels)))
    assert deepest > 200
    assert orjson.dumps({"message": {"tool_calls": [{"function": {"arguments": nested(deepest)}}]}})
