import sqlite3

from appliance.store import audit


def _insert(conn: sqlite3.Connection, at_ms: int, before: object = None, after: object = None) -> None:
    audit.insert(conn, at_ms=at_ms, who="zoe", action="key.create", subject="key_1", before=before, after=after)


def test_rows_come_newest_first_and_in_pages(conn: sqlite3.Connection):
    for at_ms in (10, 20, 30):
        _insert(conn, at_ms)
    assert [row.at_ms for row in audit.newest(conn, limit=2)] == [30, 20]
    assert [row.at_ms for row in audit.newest(conn, limit=2, before_n=2)] == [10]


def test_before_and_after_are_json(conn: sqlite3.Connection):
    _insert(conn, 1, before={"full": "a"}, after={"full": "é", "n": [1, None]})
    assert audit.newest(conn, limit=1) == [
        audit.AuditRow(1, 1, "zoe", "key.create", "key_1", {"full": "a"}, {"full": "é", "n": [1, None]})
    ]
    _insert(conn, 2)
    assert (audit.newest(conn, limit=1)[0].before, audit.newest(conn, limit=1)[0].after) == (None, None)
