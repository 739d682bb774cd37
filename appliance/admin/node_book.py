"""Writes down what `cluster` finds out by itself: who joined by the cluster key, and where a machine was reached."""

from appliance.admin import node_changes
from appliance.admin.changes import Change
from appliance.admin.node_changes import Books
from appliance.ids import Clock, Ids
from appliance.store import cluster_secrets, nodes
from appliance.store.database import Database
from appliance.store.nodes import NodeRow
from appliance.times import to_ms

BY_KEY = "cluster key"
"""Who let a machine in that joined by it, in the audit table."""


class NodeBook:
    """What `cluster.newcomers` and `cluster.members` keep their findings in."""

    def __init__(self, database: Database, books: Books, clock: Clock, ids: Ids) -> None:
        self._database = database
        self._books = books
        self._clock = clock
        self._ids = ids

    async def secret(self) -> bytes | None:
        key = await self._database.read(lambda conn: cluster_secrets.cluster_key(conn, self._books.sealer))
        return key.secret if key is not None and key.usable(to_ms(self._clock())) else None

    async def key_problem(self) -> str:
        key = await self._database.read(lambda conn: cluster_secrets.cluster_key(conn, self._books.sealer))
        if key is None or key.usable(to_ms(self._clock())):
            return ""
        how = "has been used as often as it may be" if key.uses == 0 else "has expired"
        return f"The cluster key {how}. Make another (synapse cluster key new), or admit it by its words."

    async def joined(self, row: NodeRow) -> NodeRow:
        change = Change(BY_KEY, self._clock(), self._ids)
        return await self._database.write(lambda conn: node_changes.admit(conn, change, self._books, row))

    async def reached(self, node_id: str, url: str) -> None:
        await self._database.write(lambda conn: nodes.set_url(conn, node_id, url))
