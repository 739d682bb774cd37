import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from appliance.ids import digest
from appliance.store import keys, users, workspaces

Insert = Callable[..., None]


@pytest.fixture
def insert(started: sqlite3.Connection) -> Insert:
    """Adds a key of the default user and workspace."""

    def insert(secret: str = "sk_live_1", key_id: str = "key_1", **given: Any) -> None:
        row: dict[str, Any] = {
            "name": "laptop",
            "workspace_n": 1,
            "user_n": 1,
            "scopes": frozenset({"engine"}),
            "created_ms": 1,
        }
        keys.insert(started, key_id=key_id, digest=digest(secret), **(row | given))

    return insert


def test_a_key_comes_back_with_whom_it_acts_for(started: sqlite3.Connection, insert: Insert):
    workspaces.insert(started, workspace_id="ws_2", name="legal", created_ms=5)
    users.insert(started, user_id="usr_2", name="zoe", created_ms=5)
    insert(
        "sk_live_x",
        "key_x",
        name="zoe's laptop",
        workspace_n=2,
        user_n=2,
        scopes=frozenset({"proofs", "engine"}),
        read_only=True,
        ceiling_milli=12_500,
        requests_per_minute=60,
        expires_ms=99,
        created_ms=7,
    )
    assert keys.by_digest(started, digest("sk_live_x")) == keys.Caller(
        key_n=1,
        key_id="key_x",
        key_name="zoe's laptop",
        workspace_n=2,
        workspace_id="ws_2",
        workspace="legal",
        user_n=2,
        user_id="usr_2",
        user="zoe",
        scopes=frozenset({"engine", "proofs"}),
        read_only=True,
        ceiling_milli=12_500,
        requests_per_minute=60,
        created_ms=7,
        expires_ms=99,
        revoked_ms=None,
    )


def test_what_was_not_said_is_not_there(started: sqlite3.Connection, insert: Insert):
    insert()
    found = keys.by_id(started, "key_1")
    assert found is not None
    assert (found.read_only, found.ceiling_milli, found.requests_per_minute, found.expires_ms) == (
        False,
        None,
        None,
        None,
    )


def test_another_key_opens_nothing(started: sqlite3.Connection, insert: Insert):
    insert("sk_live_1")
    assert keys.by_digest(started, digest("sk_live_2")) is None
    assert keys.by_digest(started, digest("SK_LIVE_1")) is None
    assert keys.by_id(started, "key_2") is None


def test_the_key_itself_is_not_in_the_database(started: sqlite3.Connection, insert: Insert):
    insert("sk_live_a-secret-of-some-length")
    assert "a-secret-of-some-length" not in "\n".join(started.iterdump())


def test_a_name_can_be_used_again(started: sqlite3.Connection, insert: Insert):
    insert("a", "key_a", name="ci")
    insert("b", "key_b", name="other")
    insert("c", "key_c", name="ci")
    assert [key.key_id for key in keys.by_name(started, "ci")] == ["key_a", "key_c"]
    assert [key.key_id for key in keys.list_all(started)] == ["key_a", "key_b", "key_c"]


def test_a_revoked_key_is_still_listed_and_no_longer_usable(started: sqlite3.Connection, insert: Insert):
    insert()
    keys.revoke(started, 1, 50)
    keys.revoke(started, 1, 60)
    found = keys.by_digest(started, digest("sk_live_1"))
    assert found is not None
    assert found.revoked_ms == 50
    assert not found.usable(0)


def test_a_key_expires_at_its_very_millisecond(started: sqlite3.Connection, insert: Insert):
    insert(expires_ms=100)
    found = keys.by_id(started, "key_1")
    assert found is not None
    assert found.usable(99)
    assert not found.usable(100)


def test_a_key_of_nobody_cannot_be_made(insert: Insert):
    with pytest.raises(sqlite3.IntegrityError):
        insert(workspace_n=9)
    with pytest.raises(sqlite3.IntegrityError):
        insert(user_n=9)
