import sqlite3

import pytest

from appliance.store import live_settings


@pytest.mark.parametrize("value", ["text", 3, True, None, ["a"], {"full": "llama3.2", "é": None}])
def test_a_json_value_is_kept(conn: sqlite3.Connection, value: object):
    live_settings.put(conn, "x", value)
    assert live_settings.get(conn, "x") == value


def test_the_last_value_stands(conn: sqlite3.Connection):
    assert live_settings.get(conn, "x") is None
    live_settings.put(conn, "x", 1)
    live_settings.put(conn, "y", 2)
    live_settings.put(conn, "x", 3)
    assert (live_settings.get(conn, "x"), live_settings.get(conn, "y")) == (3, 2)


def test_local_models(conn: sqlite3.Connection):
    assert live_settings.local_models(conn) == {}
    live_settings.put(conn, live_settings.LOCAL_MODELS, {"full": "llama3.2"})
    assert live_settings.local_models(conn) == {"full": "llama3.2"}
