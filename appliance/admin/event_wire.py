"""What the admin API says of changes: the audit table in pages, and the stream of events. Shapes as in `wire`."""

from dataclasses import dataclass

from appliance.admin.node_wire import NodeList
from appliance.admin.pull_wire import PullList
from appliance.admin.wire import Status


@dataclass(frozen=True, slots=True)
class Change:
    """One change that somebody made. `before` and `after` are JSON texts, None where there was nothing."""

    n: int
    at: str
    who: str
    action: str
    subject: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Newest first. `next_before` asks for the page after this one; None when this is the last."""

    changes: tuple[Change, ...]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """What is different now. The first event of a stream holds everything, and is the snapshot; in those that follow
    None stands for what is as it was, so that one without anything says no more than that the daemon lives.

    `last_change` is the number of the newest row of the audit table: whoever shows keys, policy or settings reads them
    again when it grows. `problem`: in a sentence, why the daemon cannot tell how it is.
    """

    status: Status | None = None
    nodes: NodeList | None = None
    pulls: PullList | None = None
    last_change: int | None = None
    problem: str | None = None
