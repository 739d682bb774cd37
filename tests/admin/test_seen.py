import sqlite3

import pytest

from appliance.admin import seen
from appliance.admin.seen import Subject
from appliance.admin.wire import Conflict
from appliance.store import audit

FULL = Subject("the model of full", "model.*set", ("full",))


def changed(conn: sqlite3.Connection, action: str, subject: str) -> None:
    audit.insert(conn, at_ms=0, who="rita", action=action, subject=subject, before=None, after=None)


def test_it_grows_with_every_change_of_the_subject_and_no_other(conn: sqlite3.Connection):
    before = seen.revision(conn, FULL)
    for action, subject in (("model.set", "fast"), ("model.pull", "full"), ("shield.set", "full")):
        changed(conn, action, subject)
        assert seen.revision(conn, FULL) == before
    changed(conn, "model.set", "full")
    first = seen.revision(conn, FULL)
    changed(conn, "model.unset", "full")
    assert before < first < seen.revision(conn, FULL)


def test_of_any_subject(conn: sqlite3.Connection):
    changed(conn, "provider.put", "openai")
    first = seen.revision(conn, Subject("a provider", "provider.*"))
    changed(conn, "provider.remove", "rack")
    assert seen.revision(conn, Subject("a provider", "provider.*")) > first


def test_who_has_seen_the_newest_may_change_it_and_nobody_else(conn: sqlite3.Connection):
    before = seen.revision(conn, FULL)
    seen.check(conn, before, FULL)
    changed(conn, "model.set", "full")
    with pytest.raises(Conflict) as caught:
        seen.check(conn, before, FULL)
    assert caught.value.message == (
        "rita has changed the model of full meanwhile (model.set, 1970-01-01T00:00:00.000Z)."
    )
    assert caught.value.advice == "Look at it as it is now, and change that."
    seen.check(conn, seen.revision(conn, FULL), FULL)


def test_who_has_not_looked_changes_it_whatever_it_is(conn: sqlite3.Connection):
    changed(conn, "model.set", "full")
    seen.check(conn, None, FULL)
