import sqlite3

import pytest

from appliance.store import installation


def test_an_installation_gets_its_name_once(conn: sqlite3.Connection):
    assert installation.get(conn) is None
    installation.create(conn, "abc", 0)
    assert installation.get(conn) == "abc"
    with pytest.raises(sqlite3.IntegrityError):
        installation.create(conn, "def", 0)
