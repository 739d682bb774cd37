"""The hard cases of the mode `medical`, and more of the same kind for each: what has to be found, and nothing else.

Sources: the shared hard cases, written for this project; `tests/cases/shield_medical.json`, each with a note that says
why. NIR keys and NHS check digits are computed by the rules of INSEE and of the NHS Data Dictionary, check digits of
VINs are those of the examples in ISO 3779 and 49 CFR 565.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from appliance.shield.categories import MEDICAL, STANDARD
from appliance.shield.detect import Detector

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "pii" / "hard_cases.json"
OURS = json.loads((ROOT / "tests" / "cases" / "shield_medical.json").read_text())
MINE = set(MEDICAL) - set(STANDARD)


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector("medical")


def found(detector: Detector, text: str) -> list[list[str]]:
    return [[each.category, text[each.start : each.end]] for each in detector.find(text)]


def shared_cases() -> list[dict[str, Any]]:
    return json.loads(SHARED.read_text()) if SHARED.exists() else []


@pytest.mark.skipif(not SHARED.exists(), reason="the shared hard cases are not beside the project")
def test_every_shared_medical_case_passes(detector: Detector):
    cases = [case for case in shared_cases() if case["mode"] == "medical"]
    assert {case["id"]: found(detector, case["input"]) for case in cases} == {c["id"]: c["expect"] for c in cases}


@pytest.mark.skipif(not SHARED.exists(), reason="the shared hard cases are not beside the project")
def test_no_medical_rule_finds_anything_in_the_cases_of_the_other_mode_but_names_and_dates_that_are_there(
    detector: Detector,
):
    cases = [case for case in shared_cases() if case["mode"] == "standard"]
    extra = {value for case in cases for kind, value in found(detector, case["input"]) if kind in MINE}
    assert extra <= {"Doe, Jane", "Jane", "ssh://deploy@build.example.com/srv"}


@pytest.mark.parametrize("case", OURS, ids=[f"{case['like']}: {case['note']}" for case in OURS])
def test_more_of_the_same_kind(detector: Detector, case: dict[str, Any]):
    assert found(detector, case["input"]) == case["expect"]


@pytest.mark.skipif(not SHARED.exists(), reason="the shared hard cases are not beside the project")
def test_each_shared_case_has_two_more_of_its_kind():
    kinds = [case["like"] for case in OURS]
    few = [case["id"] for case in shared_cases() if case["mode"] == "medical" and kinds.count(case["id"]) < 2]
    assert few == []
