"""The targets of the mode `medical` on labelled text, by the shared scorer. Source: shield.md ("Targets")."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from appliance.shield.detect import Detector

SHARED = Path(__file__).parents[2].parent / "shared" / "pii"

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the labelled text is not beside the project")

TARGETS = {
    "eds_pseudo_fr_a": {
        "NAME": (0.85, 0.80), "DATE": (0.90, 0.90), "MRN": (0.85, 0), "ZIP": (0.85, 0),
    },
    "asq_phi_a": {"NAME": (0.93, 0)},
    "piianon_clinical_a": {"NAME": (0.98, 0)},
}  # fmt: skip
"""Of each set and category: the share covered, and the precision where one is set."""

MAX_WRONG = 1.5
"""Masks beyond the labels in a thousand words."""


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector("medical")


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(SHARED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def spans(detector: Detector, text: str) -> list[tuple[int, int, str]]:
    [found] = detector.spread([text], [detector.find(text)])
    return [(each.start, each.end, each.category) for each in found]


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_covered_and_how_precisely(detector: Detector, name: str, tmp_path: Path):
    found = tmp_path / "spans.jsonl"
    found.write_text(
        "".join(json.dumps({"id": row["id"], "spans": spans(detector, row["text"])}) + "\n" for row in rows(name))
    )
    command = [sys.executable, SHARED / "score.py", "--mode", "medical", "--json", SHARED / f"{name}.jsonl.gz", found]
    table = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["categories"]
    for category, (covered, precision) in TARGETS[name].items():
        assert table[category]["covered"] >= covered, category
        assert table[category]["precision"] >= precision, category


@pytest.mark.parametrize("name", ["eds_pseudo_fr_a", "asq_phi_a", "meddocan_es_a"])
def test_what_is_masked_beyond_the_labels(detector: Detector, name: str):
    words = wrong = 0
    for row in rows(name):
        words += len(row["text"].split())
        wrong += sum(
            not any(start < last and end > first for first, last, _ in row["spans"])
            for start, end, _ in spans(detector, row["text"])
        )
    assert 1_000 * wrong / words <= MAX_WRONG
