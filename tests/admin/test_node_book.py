from dataclasses import replace
from datetime import timedelta

import pytest

from appliance.admin.node_book import NodeBook
from appliance.cluster.identity import Identity
from appliance.errors import AdminError
from appliance.store import cluster_secrets, nodes
from appliance.store.cluster_secrets import ClusterKeyRow
from appliance.store.nodes import NodeRow
from appliance.times import to_ms
from tests.admin.played import NOW, Daemon
from tests.admin.records import actions

SECRET = bytes(range(20))
NODE = Identity.create()
ROW = NodeRow(NODE.id, "desk", "pinned", "ollama", "https://10.0.0.2:11435", "key", "admitted", 0, NODE.certificate)


@pytest.fixture
def book(daemon: Daemon) -> NodeBook:
    return NodeBook(daemon.parts.database, daemon.books, lambda: daemon.now, daemon.parts.ids)


async def put_key(daemon: Daemon, *, expires_ms: int | None = None, uses: int | None = None) -> None:
    row = ClusterKeyRow(SECRET, 0, expires_ms, uses)
    await daemon.parts.database.write(lambda conn: cluster_secrets.put_cluster_key(conn, daemon.books.sealer, row))


async def test_the_secret_in_force(book: NodeBook, daemon: Daemon):
    assert await book.secret() is None
    await put_key(daemon)
    assert await book.secret() == SECRET
    await put_key(daemon, expires_ms=to_ms(NOW) + 1)
    assert await book.secret() == SECRET
    daemon.now += timedelta(milliseconds=1)
    assert await book.secret() is None
    await put_key(daemon, uses=0)
    assert await book.secret() is None


async def test_who_joins_is_kept_with_who_let_it_in(book: NodeBook, daemon: Daemon):
    await put_key(daemon, uses=1)
    kept = await book.joined(ROW)
    assert kept == replace(ROW, changed_ms=to_ms(NOW))
    assert await daemon.parts.database.read(nodes.list_all) == [kept]
    assert await actions(daemon) == [("cluster key", "node.admit", NODE.id)]
    with pytest.raises(AdminError, match=r"not in force any more\. Make another: synapse cluster key new\."):
        await book.joined(replace(ROW, id="b" * 52))


async def test_without_a_key_nobody_joins(book: NodeBook, daemon: Daemon):
    with pytest.raises(AdminError, match="not in force"):
        await book.joined(ROW)
    assert await daemon.parts.database.read(nodes.list_all) == []


async def test_where_one_is_reached_is_kept_and_makes_no_machine(book: NodeBook, daemon: Daemon):
    await book.reached(NODE.id, "https://10.0.0.9:11435")
    assert await daemon.parts.database.read(nodes.list_all) == []
    await put_key(daemon)
    await book.joined(ROW)
    await book.reached(NODE.id, "https://10.0.0.9:11435")
    [row] = await daemon.parts.database.read(nodes.list_all)
    assert row.url == "https://10.0.0.9:11435"
