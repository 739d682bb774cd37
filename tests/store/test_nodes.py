import sqlite3
from dataclasses import replace

import pytest

from appliance.errors import StateError
from appliance.store import nodes
from appliance.store.nodes import NodeRow
from appliance.store.sealing import Sealer

KEY = "a-key-that-nobody-may-see"
SEALER = Sealer(bytes(32))

PINNED = NodeRow("a" * 52, "attic", "pinned", "ollama", "https://10.0.0.2:11435", "key", "admitted", 5, b"der", slots=2)
OPEN = NodeRow(
    "url-b", "vllm", "open", "openai-compatible", "http://10.0.0.3:8000/v1", "administrator", "admitted", 6, ca="PEM"
)


def test_machines_come_back_as_they_were_put_in_the_order_of_the_decisions(conn: sqlite3.Connection):
    nodes.put(conn, PINNED)
    nodes.put(conn, OPEN)
    drained = replace(PINNED, state="draining", changed_ms=7)
    nodes.put(conn, drained)
    assert nodes.list_all(conn) == [drained, OPEN]
    assert nodes.get(conn, "url-b") == OPEN
    assert nodes.get(conn, "nobody") is None


def test_where_it_was_reached_last(conn: sqlite3.Connection):
    nodes.put(conn, PINNED)
    nodes.set_url(conn, PINNED.id, "https://10.0.0.9:11435")
    assert nodes.get(conn, PINNED.id) == replace(PINNED, url="https://10.0.0.9:11435")


def test_a_removed_one_is_gone(conn: sqlite3.Connection):
    nodes.put(conn, PINNED)
    nodes.remove(conn, PINNED.id)
    assert nodes.list_all(conn) == []


@pytest.mark.parametrize(
    ("state", "in_use"), [("admitted", True), ("draining", True), ("rejected", False), ("revoked", False)]
)
def test_which_are_machines_now(state: nodes.State, in_use: bool):
    assert replace(PINNED, state=state).in_use is in_use


def test_a_key_is_sealed_and_bound_to_its_machine(conn: sqlite3.Connection):
    row = replace(OPEN, sealed=nodes.seal_key(SEALER, OPEN.id, KEY))
    nodes.put(conn, row)
    assert KEY not in "\n".join(conn.iterdump())
    assert "sealed" not in repr(row)
    found = nodes.get(conn, OPEN.id)
    assert found is not None
    assert nodes.key_of(found, SEALER) == KEY
    assert nodes.key_of(OPEN, SEALER) is None
    with pytest.raises(StateError):
        nodes.key_of(replace(found, id="url-c"), SEALER)
