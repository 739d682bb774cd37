"""What a check says: how it is, in a sentence, and what to do next."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`check`: what was looked at. `advice`: the next step, empty where there is none to take."""

    check: str
    state: State
    said: str
    advice: str = ""


def ok(check: str, said: str) -> Finding:
    return Finding(check, "ok", said)


def warning(check: str, said: str, advice: str) -> Finding:
    """It works, or is not known; somebody should look."""
    return Finding(check, "warning", said, advice)


def failed(check: str, said: str, advice: str) -> Finding:
    """It does not work, or is not safe."""
    return Finding(check, "failed", said, advice)
