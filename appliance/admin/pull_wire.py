"""What the admin API says of pulls: models that machines are fetching. Imports no more than `wire` does."""

from dataclasses import dataclass
from typing import Literal

PullState = Literal["running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class NewPull:
    """A model to be fetched onto a machine. `node`: an id, its beginning, or a name; None for the only one there is."""

    name: str
    node: str | None = None


@dataclass(frozen=True, slots=True)
class PullRef:
    id: str


@dataclass(frozen=True, slots=True)
class Pull:
    """A model on its way onto a machine, whose name is `node`. `status` is the machine's own word. `completed` of
    `total` bytes have come, over all that is known of so far; 0 while nothing is. `problem` and `advice`: in sentences,
    why it failed and what to do next."""

    id: str
    name: str
    node: str
    node_id: str
    state: PullState
    status: str
    completed: int
    total: int
    started: str
    ended: str | None
    problem: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class PullList:
    """Newest first: all that run, and the last few that ended."""

    pulls: tuple[Pull, ...]
