import sqlite3

from appliance.store import signing_keys
from appliance.store.signing_keys import SigningKeyRow


def test_keys_come_back_oldest_first(conn: sqlite3.Connection):
    old = SigningKeyRow("a", "certificate", b"p" * 32, b"sealed", 0, 9)
    new = SigningKeyRow("b", "certificate", b"q" * 32, b"sealed", 10, None)
    signing_keys.insert(conn, old)
    signing_keys.insert(conn, new)
    assert signing_keys.all_keys(conn) == [old, new]
