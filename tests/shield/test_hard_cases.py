"""The hard cases of the standard mode, and more of the same kind. Source: hard_cases.json of the labelled data;
shield_standard.json, of which each says what it stands for."""

from collections import Counter
from typing import Any

import pytest

from appliance.shield.detect import Detector
from tests.shield.data import FOLDER, labelled_json, own_cases
from tests.shield.found import typed

HARD = (
    [case for case in labelled_json("hard_cases.json") if case["mode"] == "standard"]
    if (FOLDER / "hard_cases.json").is_file()
    else []
)
OWN = own_cases("shield_standard.json")
OWN_OF_EACH = 2


def name(case: dict[str, Any]) -> str:
    return case.get("id") or f"{case['like']}: {case['note']}"


@pytest.mark.parametrize("case", HARD + OWN, ids=name)
def test_the_spans_are_exactly_the_expected_ones(case: dict[str, Any]):
    assert typed(Detector("standard").find, case["input"]) == [tuple(each) for each in case["expect"]]


def test_each_hard_case_has_more_of_its_kind():
    kinds = {case["id"] for case in labelled_json("hard_cases.json") if case["mode"] == "standard"}
    own = Counter(case["like"] for case in OWN)
    assert {kind: own[kind] for kind in kinds if own[kind] < OWN_OF_EACH} == {}
    assert own.keys() <= kinds


def test_off_finds_nothing():
    assert Detector("off").find("jane@example.com, 06 12 34 56 78") == ()
