"""Keeps calls from a machine that fails: fast failures would make it look idle, and so the best of all.

Pure: moments are handed in, in seconds of a clock that only goes forward. Source: cluster.md, "Choosing a machine".
"""

from dataclasses import dataclass
from typing import Literal

FAILURES = 3
"""In a row, after which it opens."""

OPEN_SECONDS = 30.0
"""How long it stays open before one call may try the machine again."""

State = Literal["closed", "open", "half-open"]
Outcome = Literal["answered", "failed", "neither"]
"""Of an attempt: `failed` by a connection error, a 5xx or a 429; `neither` where the caller left or was to blame."""


@dataclass(slots=True)
class Breaker:
    """Of one machine. While it is half-open one call at a time is let through, and decides."""

    failures: int = 0
    opened: float | None = None
    trying: bool = False

    def state(self, now: float) -> State:
        if self.opened is None:
            return "closed"
        return "half-open" if now - self.opened >= OPEN_SECONDS else "open"

    def begins(self) -> None:
        """A call is sent to the machine."""
        if self.opened is not None:
            self.trying = True

    def ends(self, outcome: Outcome, now: float) -> None:
        """A call has ended there."""
        self.trying = False
        if outcome == "answered":
            self.failures, self.opened = 0, None
        elif outcome == "failed":
            self.failures += 1
            if self.failures >= FAILURES:
                self.opened = now

    def recovers(self, now: float) -> None:
        """The machine came back: the next call may try it at once."""
        if self.opened is not None:
            self.opened = now - OPEN_SECONDS
