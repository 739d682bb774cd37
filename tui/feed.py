"""What the console knows of the daemon: a picture, kept fresh by the stream of events, marked stale where that ends.

Must not know how anything is shown.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from appliance.admin.client import AdminError, event_wire, node_wire, pull_wire, wire

FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 5.0
"""Between two attempts to reach a daemon that is down."""


Missing = Literal["daemon", "access", "answer"]


@dataclass(frozen=True, slots=True)
class Picture:
    """`stale`: since when it is not fresh any more, and `why`, in a sentence; None and "" while it is. `missing`: what
    there is none of then. `problem`: what the daemon itself cannot tell. `broken_off`: pulls that ran when their daemon
    ended, newest first, of which the one after it knows nothing."""

    status: wire.Status | None = None
    nodes: node_wire.NodeList | None = None
    pulls: pull_wire.PullList | None = None
    broken_off: tuple[pull_wire.Pull, ...] = ()
    last_change: int = 0
    problem: str = ""
    stale: datetime | None = None
    why: str = ""
    missing: Missing | None = None

    @property
    def fresh(self) -> bool:
        return self.status is not None and self.stale is None


class Feed:
    """`events` opens the stream. `changed` is told of every new picture, with the one before."""

    def __init__(
        self,
        events: Callable[[], AsyncGenerator[event_wire.Event, None]],
        changed: Callable[[Picture, Picture], None],
        now: Callable[[], datetime],
        *,
        wait: float = FIRST_WAIT_SECONDS,
    ) -> None:
        self._events = events
        self._changed = changed
        self._now = now
        self._first_wait = wait
        self.picture = Picture()

    async def run(self) -> None:
        """For ever."""
        wait = self._first_wait
        while True:
            why, missing = "the daemon has stopped", "daemon"
            try:
                async with aclosing(self._events()) as events:
                    async for event in events:
                        wait = self._first_wait
                        self._take(event)
            except AdminError as error:
                why, missing = str(error), _missing(error)
            self._lost(why, missing)
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    def _take(self, event: event_wire.Event) -> None:
        now = self.picture
        self._put(
            Picture(
                status=event.status or now.status,
                nodes=event.nodes or now.nodes,
                pulls=event.pulls or now.pulls,
                broken_off=_broken_off(now, event),
                last_change=now.last_change if event.last_change is None else event.last_change,
                problem=now.problem if event.problem is None else event.problem,
            )
        )

    def _lost(self, why: str, missing: Missing) -> None:
        self._put(replace(self.picture, stale=self.picture.stale or self._now(), why=why, missing=missing))

    def _put(self, picture: Picture) -> None:
        before, self.picture = self.picture, picture
        if picture != before:
            self._changed(before, picture)


def _missing(error: AdminError) -> Missing:
    match error:
        case wire.DaemonDown():
            return "daemon"
        case wire.AccessDenied():
            return "access"
        case _:
            return "answer"


def _broken_off(before: Picture, event: event_wire.Event) -> tuple[pull_wire.Pull, ...]:
    """A pull ends with its daemon. One that was begun again is none of these any more."""
    pulls = before.broken_off
    if event.status is not None and _is_another(event.status, before.status) and before.pulls is not None:
        pulls = (*(pull for pull in before.pulls.pulls if pull.state == "running"), *pulls)
    known = event.pulls.pulls if event.pulls is not None else ()
    again = {(pull.node_id, pull.name) for pull in known}
    return tuple(pull for pull in pulls if (pull.node_id, pull.name) not in again)


def _is_another(daemon: wire.Status, before: wire.Status | None) -> bool:
    return before is not None and (daemon.pid, daemon.started) != (before.pid, before.started)
