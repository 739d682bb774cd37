"""Nobody overwrites what they have not looked at: what is looked at has a revision, which comes back with the change.

A revision is the number of the newest audit row about it. Read it before what it is of, or in the same transaction:
an older one is told as a conflict, a newer one would overwrite what nobody saw. Must not know what is changed.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.admin.wire import Conflict
from appliance.store import audit
from appliance.times import from_ms, rfc3339


@dataclass(frozen=True, slots=True)
class Subject:
    """What can be changed, as the audit table has it: `actions` is a pattern of SQLite's GLOB, and of `subjects` None
    takes any. `called`: its name, for a sentence."""

    called: str
    actions: str
    subjects: Sequence[str] | None = None


def revision(conn: sqlite3.Connection, subject: Subject) -> int:
    """The number of the newest change to it; 0 where nothing was ever changed."""
    newest = audit.newest_of(conn, subject.actions, subject.subjects)
    return 0 if newest is None else newest.n


def check(conn: sqlite3.Connection, seen: int | None, subject: Subject) -> None:
    """Within the transaction of a change. None is seen by who has not looked, and changes it whatever it is.

    Raises:
        Conflict: somebody has changed it since.
    """
    if seen is None:
        return
    newest = audit.newest_of(conn, subject.actions, subject.subjects)
    if newest is not None and newest.n > seen:
        raise Conflict(
            f"{newest.who} has changed {subject.called} meanwhile ({newest.action}, {rfc3339(from_ms(newest.at_ms))}).",
            advice="Look at it as it is now, and change that.",
        )
