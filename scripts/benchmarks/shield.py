"""The shield: how fast, whether linear, and beside Presidio's pattern recognisers on the same texts in one run.

Presidio is installed for this benchmark alone, into .bench/presidio. The labelled texts are those of ../shared/pii.
"""

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from appliance.shield.categories import STANDARD
from appliance.shield.detect import Detector
from scripts.benchmarks.results import ROOT, report

DATA = ROOT.parent / "shared" / "pii"
PRESIDIO = ROOT / ".bench" / "presidio"
REPEATS = 5
KB = 1024
MB = 1024 * KB

SETS = ("presidio_generated_large", "piianon_formats", "piianon_clinical_a", "eds_pseudo_fr_a")

DENSE = (
    "jane.doe{n}@example.org", "+33 6 12 34 {n:02} 78", "01 42 68 {n:02} 00", "4111 1111 1111 1111",
    "FR76 3000 6000 0112 3456 7890 189", "219-09-{n:02}99", "192.0.2.{n}", "2001:db8::{n}", "00:1a:2b:3c:4d:{n:02}",
)  # fmt: skip
"""One after the other with a word in between: more values than any real text has."""

HOSTILE = ("1", ".", "@", "1.", "a@", "+33 ", "1 ", ":", "0:", "A1", "(", "[EMAIL_", "Dr ", "Jean ", "12/", "\u0661")


def main() -> None:
    if not DATA.is_dir():
        sys.exit("This benchmark reads the labelled texts of ../shared/pii, which are not here.")
    python = _presidio()
    texts = {"prose, 20 KB": _prose(), "clinical text, 20 KB": _clinical(), "dense, 200 KB": _dense(200 * KB)}
    detectors = {mode: Detector(mode) for mode in ("standard", "medical")}
    rows = {name: _rows(name) for name in SETS}
    asked = {"timed": texts, "scored": [row["text"] for name in SETS for row in rows[name]]}
    theirs = json.loads(
        subprocess.run(
            [python, ROOT / "scripts/lib/presidio_spans.py"],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    figures: dict[str, float] = {}
    units: dict[str, str] = {}
    for name, text in texts.items():
        for mode, detector in detectors.items():
            figures[f"{name}, {mode}"] = _seconds(detector.find, text) * 1000
        figures[f"{name}, Presidio"] = theirs["seconds"][name] * 1000
        figures[f"{name}: times as fast as Presidio, standard"] = (
            figures[f"{name}, Presidio"] / figures[f"{name}, standard"]
        )
        units[f"{name}: times as fast as Presidio, standard"] = ""
    for mode, detector in detectors.items():
        figures[f"dense text, {mode}"] = len(_dense(MB)) / MB / _seconds(detector.find, _dense(MB))
        units[f"dense text, {mode}"] = "MB/s"
        worst = max((_ratio(detector, unit), unit) for unit in HOSTILE)
        figures[f"10 times the text, hostile, {mode}: worst of {len(HOSTILE)} kinds"] = worst[0]
        units[f"10 times the text, hostile, {mode}: worst of {len(HOSTILE)} kinds"] = "times"
    _score(rows, detectors["standard"], theirs["spans"], figures, units)
    report("shield", figures, unit=units)


def _presidio() -> Path:
    """The Python that has Presidio; installs it if need be."""
    python = PRESIDIO / "bin" / "python"
    lock = ROOT / "scripts/requirements/presidio.txt"
    stamp = PRESIDIO / "installed"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        subprocess.run([sys.executable, "-m", "venv", "--clear", PRESIDIO], check=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
             "-r", lock],
            check=True,
        )  # fmt: skip
        stamp.write_bytes(lock.read_bytes())
    return python


def _rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _prose() -> str:
    """English prose with hardly a digit: the licence, as often as it takes."""
    return ((ROOT / "LICENSE").read_text("utf-8") * 2)[: 20 * KB]


def _clinical() -> str:
    return "\n".join(row["text"] for row in _rows("eds_pseudo_fr_a"))[: 20 * KB]


def _dense(size: int) -> str:
    parts: list[str] = []
    length = n = 0
    while length < size:
        parts.append(f"{DENSE[n % len(DENSE)].format(n=n % 90 + 10)} and ")
        length += len(parts[-1])
        n += 1
    return "".join(parts)[:size]


def _seconds(work: Callable[[str], object], text: str) -> float:
    """The best of some runs: what else the machine does only adds."""
    took: list[float] = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work(text)
        took.append(time.perf_counter() - began)
    return min(took)


def _ratio(detector: Detector, unit: str) -> float:
    """How many times as long ten times the text takes."""
    text = unit * (100 * KB // len(unit))
    return _seconds(detector.find, text * 10) / _seconds(detector.find, text)


def _score(
    rows: dict[str, list[dict[str, Any]]],
    detector: Detector,
    theirs: Sequence[Sequence[Sequence[object]]],
    figures: dict[str, float],
    units: dict[str, str],
) -> None:
    """What each finds of the labelled values, by the scorer that belongs to them."""
    at = 0
    for name in SETS:
        texts = [row["text"] for row in rows[name]]
        ours = [[[each.start, each.end, each.category] for each in detector.find(text)] for text in texts]
        for who, spans in (("Synapse", ours), ("Presidio", theirs[at : at + len(texts)])):
            table = _scored(name, rows[name], spans)
            for category in STANDARD:
                if table.get(category, {}).get("gold"):
                    figures[f"{name}, {category}: covered, {who}"] = table[category]["covered"]
                    units[f"{name}, {category}: covered, {who}"] = ""
        at += len(texts)


def _scored(name: str, rows: list[dict[str, Any]], spans: Sequence[object]) -> dict[str, dict[str, float]]:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as predictions:
        for row, found in zip(rows, spans, strict=True):
            predictions.write(json.dumps({"id": row["id"], "spans": found}) + "\n")
        predictions.flush()
        scored = subprocess.run(
            [sys.executable, DATA / "score.py", "--mode", "standard", "--json", DATA / f"{name}.jsonl.gz",
             predictions.name],
            capture_output=True, check=True,
        )  # fmt: skip
    return json.loads(scored.stdout)["categories"]


if __name__ == "__main__":
    main()
