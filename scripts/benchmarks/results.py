"""How a benchmark tells its figures: a table for people, and JSON with commit, machine and command."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def report(name: str, figures: Mapping[str, float], *, unit: Mapping[str, str]) -> None:
    """Print the table; with `--save` in the arguments also write docs/results/NAME.json."""
    width = max(map(len, figures))
    for figure, value in figures.items():
        print(f"{figure:<{width}}  {value:>10.3f} {unit.get(figure, 'ms')}")
    if "--save" not in sys.argv:
        return
    result = {
        "command": f"scripts/bench {name} --save",
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain")),
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "figures": {figure: round(value, 3) for figure, value in figures.items()},
        "units": {figure: unit.get(figure, "ms") for figure in figures},
    }
    path = ROOT / "docs/results" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
