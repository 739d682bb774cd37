"""The labelled data beside the project, read in place. What needs it is skipped where it is absent."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2].parent / "shared" / "pii"
CASES = Path(__file__).parents[1] / "cases"


def labelled(name: str) -> Path:
    """The path of one file of labelled data; skips the test or module without it."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no labelled data: {name} is not in {FOLDER}", allow_module_level=True)
    return path


def labelled_json(name: str) -> Any:
    return json.loads(labelled(name).read_text(encoding="utf-8"))


def own_cases(name: str) -> list[dict[str, Any]]:
    return json.loads((CASES / name).read_text(encoding="utf-8"))
