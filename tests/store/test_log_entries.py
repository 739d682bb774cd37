import sqlite3

import pytest

from appliance.store import log_entries
from appliance.store.log_entries import EntryRow


def test_indexes_start_at_zero_and_leave_no_gap(conn: sqlite3.Connection):
    for n in range(3):
        assert log_entries.next_index(conn) == n
        log_entries.insert(conn, EntryRow(n, "type", b"body", "key", b"signature", b"entry"))


def test_an_entry_comes_back_as_it_went_in(conn: sqlite3.Connection):
    row = EntryRow(0, "type", b"\x00body", "key", b"\xffsignature", b"entry")
    log_entries.insert(conn, row)
    assert log_entries.get(conn, 0) == row
    assert log_entries.get(conn, 1) is None
    with pytest.raises(sqlite3.IntegrityError):
        log_entries.insert(conn, row)
