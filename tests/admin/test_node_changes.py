"""Each change with its audit row and its entry in the log. On a database in memory."""

import hashlib
import itertools
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from appliance.admin import node_changes as changes
from appliance.admin.changes import Change
from appliance.admin.node_changes import Books
from appliance.admin.wire import InvalidInput
from appliance.cluster.identity import Identity
from appliance.errors import AdminError
from appliance.ids import Ids
from appliance.proofs import identity
from appliance.proofs.envelope import NODE_ADMIT, NODE_REVOKE
from appliance.proofs.notary import Notary
from appliance.store import audit, cluster_secrets, log_entries, nodes
from appliance.store.cluster_secrets import ClusterKeyRow
from appliance.store.nodes import NodeRow, State
from appliance.store.sealing import Sealer
from appliance.times import to_ms

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
SEALER = Sealer(bytes(32))
NODE = Identity.create()
PINNED = NodeRow(
    NODE.id, "desk", "pinned", "ollama", "https://10.0.0.2:11435", "words", "admitted", to_ms(NOW), NODE.certificate
)
OPEN = NodeRow("url-b", "rack", "open", "openai-compatible", "http://10.0.0.3", "administrator", "admitted", to_ms(NOW))
KEY = ClusterKeyRow(b"s" * 20, 0, None, 1)


@pytest.fixture
def change() -> Change:
    numbers = itertools.count(1)
    return Change("zoe", NOW, Ids(lambda size: next(numbers).to_bytes(size, "big")))


@pytest.fixture
def books(conn: sqlite3.Connection, change: Change) -> Books:
    return Books(Notary(identity.load(conn, SEALER, random=change.ids.random, now=NOW)), SEALER)


def trail(conn: sqlite3.Connection) -> list[Any]:
    return list(reversed(audit.newest(conn, limit=99)))


def logged(conn: sqlite3.Connection) -> list[str]:
    rows = [log_entries.get(conn, n) for n in range(log_entries.next_index(conn))]
    return [row.payload_type for row in rows if row is not None and row.payload_type in (NODE_ADMIT, NODE_REVOKE)]


class TestAdmit:
    def test_what_the_audit_table_keeps_of_it(self, conn: sqlite3.Connection, change: Change, books: Books):
        row = replace(OPEN, sealed=nodes.seal_key(SEALER, OPEN.id, "sk-secret"), ca="PEM", slots=3)
        assert changes.admit(conn, change, books, row) == row
        [recorded] = trail(conn)
        assert recorded.after == {
            "name": "rack",
            "trust": "open",
            "kind": "openai-compatible",
            "url": "http://10.0.0.3",
            "slots": 3,
            "state": "admitted",
            "way": "administrator",
            "key": hashlib.sha256(row.sealed or b"").hexdigest()[:16],
            "ca": hashlib.sha256(b"PEM").hexdigest()[:16],
        }

    def test_what_changes_nothing_is_not_recorded(self, conn: sqlite3.Connection, change: Change, books: Books):
        for _ in range(2):
            changes.admit(conn, change, books, PINNED)
        assert (len(trail(conn)), logged(conn)) == (1, [NODE_ADMIT])

    def test_another_certificate_of_the_same_key_is_logged(
        self, conn: sqlite3.Connection, change: Change, books: Books
    ):
        changes.admit(conn, change, books, PINNED)
        changes.admit(conn, change, books, replace(PINNED, certificate=b"another"))
        assert [row.action for row in trail(conn)] == ["node.admit", "node.admit"]
        assert logged(conn) == [NODE_ADMIT] * 2

    @pytest.mark.parametrize("state", ["rejected", "revoked"])
    def test_who_was_put_out_is_let_in_by_nobody_but_an_administrator(
        self, conn: sqlite3.Connection, change: Change, books: Books, state: State
    ):
        cluster_secrets.put_cluster_key(conn, SEALER, KEY)
        before = replace(PINNED, state=state, certificate=None)
        nodes.put(conn, before)
        with pytest.raises(AdminError) as caught:
            changes.admit(conn, change, books, replace(PINNED, way="key"))
        said = f"It was {state} before, so that no key lets it in. An administrator can: synapse node admit."
        assert str(caught.value) == said
        assert nodes.list_all(conn) == [before]
        key = cluster_secrets.cluster_key(conn, SEALER)
        assert key is not None
        assert (key.uses, trail(conn), logged(conn)) == (1, [], [])
        changes.admit(conn, change, books, PINNED)
        [row] = trail(conn)
        assert (row.before["state"], row.after["state"]) == (state, "admitted")

    def test_a_machine_in_use_needs_no_key_again(self, conn: sqlite3.Connection, change: Change, books: Books):
        cluster_secrets.put_cluster_key(conn, SEALER, KEY)
        for _ in range(2):
            changes.admit(conn, change, books, replace(PINNED, way="key"))
        key = cluster_secrets.cluster_key(conn, SEALER)
        assert key is not None
        assert (key.uses, len(trail(conn))) == (0, 1)
        with pytest.raises(AdminError, match="not in force any more"):
            changes.admit(conn, change, books, replace(PINNED, way="key", id="b" * 52))

    @pytest.mark.parametrize("name", ["", " a", "a\x1b[0m", "a" * 65])
    def test_what_is_no_name(self, conn: sqlite3.Connection, change: Change, books: Books, name: str):
        with pytest.raises(InvalidInput, match="That is no name"):
            changes.admit(conn, change, books, replace(PINNED, name=name))
        assert (nodes.list_all(conn), trail(conn), logged(conn)) == ([], [], [])


class TestReject:
    def test_it_is_kept_and_recorded_and_not_logged(self, conn: sqlite3.Connection, change: Change):
        row = changes.reject(conn, change, replace(OPEN, name=""))
        assert nodes.list_all(conn) == [row]
        assert row.state == "rejected"
        [recorded] = trail(conn)
        assert (recorded.who, recorded.action, recorded.subject) == ("zoe", "node.reject", "url-b")
        assert (recorded.before, recorded.after["state"]) == (None, "rejected")
        assert logged(conn) == []

    @pytest.mark.parametrize("state", ["admitted", "draining", "rejected", "revoked"])
    def test_what_was_decided_meanwhile_holds(self, conn: sqlite3.Connection, change: Change, state: State):
        nodes.put(conn, replace(PINNED, state=state))
        with pytest.raises(AdminError, match=rf"^It is {state} by now\. synapse node list --all shows it\.$"):
            changes.reject(conn, change, PINNED)
        assert (nodes.list_all(conn), trail(conn)) == ([replace(PINNED, state=state)], [])


class TestRemove:
    def test_a_pinned_one_is_revoked(self, conn: sqlite3.Connection, change: Change, books: Books):
        changes.admit(conn, change, books, PINNED)
        after = changes.remove(conn, change, books, NODE.id)
        assert after == replace(PINNED, state="revoked", certificate=None)
        assert nodes.list_all(conn) == [after]
        assert logged(conn) == [NODE_ADMIT, NODE_REVOKE]
        # Said again, it changes nothing: what is known of it keeps cluster keys from letting it in.
        assert changes.remove(conn, change, books, NODE.id) == after
        assert nodes.list_all(conn) == [after]
        assert [row.action for row in trail(conn)] == ["node.admit", "node.remove"]
        assert len(logged(conn)) == 2  # it was put out once

    def test_a_draining_one_too(self, conn: sqlite3.Connection, change: Change, books: Books):
        changes.admit(conn, change, books, PINNED)
        changes.drain(conn, change, NODE.id, on=True)
        changes.remove(conn, change, books, NODE.id)
        assert logged(conn)[-1] == NODE_REVOKE
        assert trail(conn)[-1].before["state"] == "draining"

    def test_an_open_one_is_forgotten_with_its_key(self, conn: sqlite3.Connection, change: Change, books: Books):
        sealed = nodes.seal_key(SEALER, OPEN.id, "sk-secret")
        changes.admit(conn, change, books, replace(OPEN, sealed=sealed))
        assert changes.remove(conn, change, books, OPEN.id) is None
        assert nodes.list_all(conn) == []
        dump = "\n".join(conn.iterdump()).lower()
        assert sealed.hex() not in dump
        assert "sk-secret" not in dump

    def test_nobody(self, conn: sqlite3.Connection, change: Change, books: Books):
        with pytest.raises(AdminError, match=r"^It is none of the machines that were decided about\. synapse"):
            changes.remove(conn, change, books, "x")
        with pytest.raises(AdminError, match="It is no machine in use"):
            changes.drain(conn, change, "x", on=True)
        assert (trail(conn), logged(conn)) == ([], [])


def test_a_cluster_key_is_put_and_taken_away(conn: sqlite3.Connection, change: Change):
    assert changes.revoke_cluster_key(conn, change, SEALER) is False
    changes.new_cluster_key(conn, change, SEALER, KEY)
    assert cluster_secrets.cluster_key(conn, SEALER) == KEY
    assert changes.revoke_cluster_key(conn, change, SEALER) is True
    assert cluster_secrets.cluster_key(conn, SEALER) is None
    said = {"created_ms": 0, "expires_ms": None, "uses": 1}
    assert [(row.action, row.before, row.after) for row in trail(conn)] == [
        ("cluster-key.new", None, said),
        ("cluster-key.revoke", said, None),
    ]
