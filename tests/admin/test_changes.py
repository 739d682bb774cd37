"""Each change with its audit row, and what is refused. On a database in memory."""

import itertools
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from appliance.admin import changes, seen, wire
from appliance.admin.changes import Change
from appliance.errors import AdminError
from appliance.ids import Ids, digest
from appliance.store import audit, keys, live_settings
from appliance.store.defaults import ensure_defaults

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def change() -> Change:
    numbers = itertools.count(1)
    return Change("zoe", NOW, Ids(lambda size: next(numbers).to_bytes(size, "big")))


@pytest.fixture
def conn(conn: sqlite3.Connection, change: Change) -> sqlite3.Connection:
    ensure_defaults(conn, NOW, change.ids)
    conn.execute("DELETE FROM audit")
    return conn


def trail(conn: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return [(row.who, row.action, row.subject) for row in reversed(audit.newest(conn, limit=99))]


class TestNames:
    def test_a_workspace_and_a_user_are_made_and_recorded(self, conn: sqlite3.Connection, change: Change):
        workspace = changes.create_workspace(conn, change, wire.NewName("legal"))
        user = changes.create_user(conn, change, wire.NewName("Zoé Martin"))
        assert (workspace.name, user.name) == ("legal", "Zoé Martin")
        assert workspace.created == "2026-11-29T12:00:00.000Z"
        assert trail(conn) == [("zoe", "workspace.create", workspace.id), ("zoe", "user.create", user.id)]
        assert audit.newest(conn, limit=1)[0].after == wire.encode(user)

    def test_a_name_that_is_taken_changes_nothing(self, conn: sqlite3.Connection, change: Change):
        with pytest.raises(AdminError, match='There is a workspace "default" already'):
            changes.create_workspace(conn, change, wire.NewName("default"))
        with pytest.raises(AdminError, match='There is a user "admin" already'):
            changes.create_user(conn, change, wire.NewName("admin"))
        assert trail(conn) == []

    def test_what_looks_the_same_is_the_same_name(self, conn: sqlite3.Connection, change: Change):
        changes.create_user(conn, change, wire.NewName("Zoe\u0301"))
        with pytest.raises(AdminError, match="already"):
            changes.create_user(conn, change, wire.NewName("Zo\u00e9"))
        made = changes.create_key(conn, change, wire.NewKey("k", user="Zoe\u0301"))
        assert made.key.user == "Zo\u00e9"

    @pytest.mark.parametrize(
        "name", ["", " ", "a ", " a", "a\n", "a\x1b[31m", "a\u2028b", "x" * 65, "\ud800", "\u202e"]
    )
    def test_what_is_no_name(self, conn: sqlite3.Connection, change: Change, name: str):
        for make in (changes.create_workspace, changes.create_user):
            with pytest.raises(wire.InvalidInput, match="That is no name"):
                make(conn, change, wire.NewName(name))
        with pytest.raises(wire.InvalidInput, match="That is no name"):
            changes.create_key(conn, change, wire.NewKey(name))
        assert trail(conn) == []

    def test_the_longest_name(self, conn: sqlite3.Connection, change: Change):
        assert changes.create_user(conn, change, wire.NewName("x" * 64)).name == "x" * 64


class TestKeys:
    def test_the_defaults(self, conn: sqlite3.Connection, change: Change):
        # operations.md: `key create` without --user/--workspace uses them, and without --scope gives `engine`.
        made = changes.create_key(conn, change, wire.NewKey("laptop")).key
        assert (made.user, made.workspace, made.scopes) == ("admin", "default", ("engine",))
        assert (made.read_only, made.ceiling_milli, made.requests_per_minute, made.expires) == (False, None, None, None)

    def test_everything_that_can_be_said(self, conn: sqlite3.Connection, change: Change):
        changes.create_workspace(conn, change, wire.NewName("legal"))
        changes.create_user(conn, change, wire.NewName("zoe"))
        made = changes.create_key(
            conn,
            change,
            wire.NewKey(
                "auditor",
                user="zoe",
                workspace="legal",
                scopes=("proofs", "knowledge", "proofs"),
                read_only=True,
                ceiling_milli=12_500,
                requests_per_minute=60,
                expires="2027-01-31T00:00:00Z",
            ),
        ).key
        assert made == wire.Key(
            id=made.id,
            name="auditor",
            user="zoe",
            workspace="legal",
            scopes=("knowledge", "proofs"),
            read_only=True,
            ceiling_milli=12_500,
            requests_per_minute=60,
            created="2026-11-29T12:00:00.000Z",
            expires="2027-01-31T00:00:00.000Z",
            revoked=None,
            state="active",
        )

    def test_the_secret_opens_the_key_and_is_recorded_nowhere(self, conn: sqlite3.Connection, change: Change):
        made = changes.create_key(conn, change, wire.NewKey("laptop"))
        found = keys.by_digest(conn, digest(made.secret))
        assert found is not None
        assert found.key_id == made.key.id
        assert trail(conn) == [("zoe", "key.create", made.key.id)]
        assert made.secret not in "\n".join(conn.iterdump())

    @pytest.mark.parametrize(
        ("new", "message"),
        [
            (wire.NewKey("a", user="admn"), 'There is no user "admn". Did you mean "admin"? synapse user list shows'),
            (wire.NewKey("a", workspace="zzz"), 'There is no workspace "zzz". synapse workspace list shows'),
            (wire.NewKey("a", user=""), 'There is no user "".'),
            (wire.NewKey("a", scopes=("engin",)), 'There is no scope "engin". Did you mean "engine"?'),
            (wire.NewKey("a", scopes=("x",)), 'There is no scope "x". There are: engine, proofs, knowledge, metrics.'),
            (wire.NewKey("a", ceiling_milli=-1), "The ceiling is -1."),
            (wire.NewKey("a", ceiling_milli=2**63), f"The ceiling is {2**63}."),
            (wire.NewKey("a", requests_per_minute=0), "The rate is 0. It must be from 1 to 1000000."),
            (wire.NewKey("a", expires="tomorrow"), "expires must be a time of RFC 3339"),
            (wire.NewKey("a", expires="2027-01-31"), "expires must be a time of RFC 3339"),
            (wire.NewKey("a", expires="0001-01-01T00:00:00+14:00"), "expires must be a time of RFC 3339"),
            (wire.NewKey("a", expires="2026-11-29T12:00:00Z"), "The key would have expired already."),
            (wire.NewKey("key_mine"), "A key's name cannot begin with key_"),
        ],
    )
    def test_what_is_refused(self, conn: sqlite3.Connection, change: Change, new: wire.NewKey, message: str):
        with pytest.raises(AdminError) as caught:
            changes.create_key(conn, change, new)
        assert str(caught.value).startswith(message)

    def test_revoked_by_id_or_by_name(self, conn: sqlite3.Connection, change: Change):
        first = changes.create_key(conn, change, wire.NewKey("a")).key
        second = changes.create_key(conn, change, wire.NewKey("b")).key
        assert changes.revoke_key(conn, change, first.id).state == "revoked"
        assert changes.revoke_key(conn, change, "b").id == second.id
        assert trail(conn)[2:] == [("zoe", "key.revoke", first.id), ("zoe", "key.revoke", second.id)]
        row = audit.newest(conn, limit=1)[0]
        before = orjson.loads(orjson.dumps(second))
        assert row.before == before
        assert row.after == before | {"state": "revoked", "revoked": "2026-11-29T12:00:00.000Z"}

    def test_revoking_again_is_done_already(self, conn: sqlite3.Connection, change: Change):
        made = changes.create_key(conn, change, wire.NewKey("a")).key
        first = changes.revoke_key(conn, change, "a")
        later = Change("zoe", NOW + timedelta(days=1), change.ids)
        assert changes.revoke_key(conn, later, "a") == first
        assert changes.revoke_key(conn, later, made.id) == first
        assert len(trail(conn)) == 2

    def test_a_name_of_several_keys_is_not_guessed(self, conn: sqlite3.Connection, change: Change):
        made = [changes.create_key(conn, change, wire.NewKey("ci")).key.id for _ in range(2)]
        with pytest.raises(AdminError, match=f'2 keys are named "ci". Give the id of one: {made[0]}, {made[1]}'):
            changes.revoke_key(conn, change, "ci")
        changes.revoke_key(conn, change, made[0])
        assert changes.revoke_key(conn, change, "ci").id == made[1]

    def test_no_such_key(self, conn: sqlite3.Connection, change: Change):
        with pytest.raises(wire.UnknownSubject, match='There is no key "ci"'):
            changes.revoke_key(conn, change, "ci")


class TestModels:
    def test_a_role_is_set_changed_and_unset(self, conn: sqlite3.Connection, change: Change):
        changes.set_model(conn, change, "full", wire.NewModel("llama3.2"))
        changes.set_model(conn, change, "fast", wire.NewModel("qwen3:4b"))
        changes.set_model(conn, change, "full", wire.NewModel("My model.gguf"))
        assert live_settings.local_models(conn) == {"full": "My model.gguf", "fast": "qwen3:4b"}
        changes.unset_model(conn, change, "full")
        assert live_settings.local_models(conn) == {"fast": "qwen3:4b"}
        recorded = [(row.action, row.subject, row.before, row.after) for row in audit.newest(conn, limit=9)]
        assert recorded == [
            ("model.unset", "full", "My model.gguf", None),
            ("model.set", "full", "llama3.2", "My model.gguf"),
            ("model.set", "fast", None, "qwen3:4b"),
            ("model.set", "full", None, "llama3.2"),
        ]

    def test_what_changes_nothing_is_not_recorded(self, conn: sqlite3.Connection, change: Change):
        changes.unset_model(conn, change, "full")
        changes.set_model(conn, change, "full", wire.NewModel("a"))
        changes.set_model(conn, change, "full", wire.NewModel("a"))
        assert len(trail(conn)) == 1

    def test_who_looked_before_somebody_elses_change_is_told_of_it(self, conn: sqlite3.Connection, change: Change):
        both_saw = seen.revision(conn, changes.MODELS)
        changes.set_model(conn, replace(change, who="rita"), "full", wire.NewModel("a", both_saw))
        for role in ("full", "fast", "local"):  # the last two fall back to full
            with pytest.raises(wire.Conflict, match=rf"rita has changed the model of {role} meanwhile \(model\.set"):
                changes.set_model(conn, change, role, wire.NewModel("b", both_saw))
        with pytest.raises(wire.Conflict):
            changes.unset_model(conn, change, "full", both_saw)
        changes.set_model(conn, change, "embedding", wire.NewModel("nomic", both_saw))
        assert live_settings.local_models(conn) == {"full": "a", "embedding": "nomic"}
        changes.set_model(conn, change, "full", wire.NewModel("b", seen.revision(conn, changes.MODELS)))
        assert live_settings.local_models(conn)["full"] == "b"

    @pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 257])
    def test_what_is_no_model(self, conn: sqlite3.Connection, change: Change, name: str):
        with pytest.raises(wire.InvalidInput, match="That is no model's name"):
            changes.set_model(conn, change, "full", wire.NewModel(name))

    @pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "deepseek:cloud", "x-cloud", "x:Cloud", "x:20b-CLOUD"])
    def test_what_runs_on_ollamas_cloud_is_not_local(self, conn: sqlite3.Connection, change: Change, name: str):
        # cluster.md, last section: tags ending in `:cloud` or `-cloud` are never local.
        with pytest.raises(wire.InvalidInput, match="never leaves the building"):
            changes.set_model(conn, change, "full", wire.NewModel(name))


class TestShieldMode:
    def test_it_is_kept_and_what_changes_is_recorded(self, conn: sqlite3.Connection, change: Change):
        assert live_settings.shield_mode(conn) is None
        changes.set_shield_mode(conn, change, wire.NewShieldMode("standard"), configured="standard")
        assert live_settings.shield_mode(conn) == "standard"
        assert audit.newest(conn, limit=9) == []
        changes.set_shield_mode(conn, change, wire.NewShieldMode("off"), configured="standard")
        changes.set_shield_mode(conn, change, wire.NewShieldMode("off"), configured="standard")
        assert live_settings.shield_mode(conn) == "off"
        (row,) = audit.newest(conn, limit=9)
        assert (row.action, row.subject, row.before, row.after) == ("shield.set", "mode", "standard", "off")

    def test_who_looked_before_somebody_elses_change_is_told_of_it(self, conn: sqlite3.Connection, change: Change):
        both_saw = seen.revision(conn, changes.SHIELD_MODE)
        rita = replace(change, who="rita")
        changes.set_shield_mode(conn, rita, wire.NewShieldMode("off", both_saw), configured="standard")
        with pytest.raises(wire.Conflict, match=r"rita has changed the shield's mode meanwhile \(shield\.set"):
            changes.set_shield_mode(conn, change, wire.NewShieldMode("medical", both_saw), configured="standard")
        assert live_settings.shield_mode(conn) == "off"
        now = seen.revision(conn, changes.SHIELD_MODE)
        changes.set_shield_mode(conn, change, wire.NewShieldMode("medical", now), configured="standard")
        assert live_settings.shield_mode(conn) == "medical"
