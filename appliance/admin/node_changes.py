"""What is decided about machines: jobs for the database that also write the audit row and the log's entry.

As in `changes`. The network was asked before, and the running parts are told after.
"""

import hashlib
import sqlite3
from dataclasses import dataclass, replace

from appliance.admin.changes import Change, clean_name
from appliance.cluster.addresses import host_of, is_loopback
from appliance.errors import AdminError
from appliance.proofs.machines import KnownMachine
from appliance.proofs.notary import Notary
from appliance.store import cluster_secrets, nodes
from appliance.store.cluster_secrets import ClusterKeyRow
from appliance.store.nodes import NodeRow, State
from appliance.store.sealing import Sealer
from appliance.times import to_ms

CLUSTER_KEY_DAYS = 7
"""How long a cluster key holds for which nothing was said: a week to set the machines up in."""


@dataclass(frozen=True, slots=True)
class Books:
    """What such a job writes with."""

    notary: Notary
    sealer: Sealer


def admit(conn: sqlite3.Connection, change: Change, books: Books, row: NodeRow) -> NodeRow:
    """Let a machine in, or in again. One that joined by the cluster key uses it up by one.

    Raises:
        AdminError: it joined by a key that is not in force any more, or was put out before.
        InvalidInput: its name is none.
    """
    known = nodes.get(conn, row.id)
    state: State = known.state if known is not None and known.in_use else "admitted"
    row = replace(row, name=clean_name(row.name), state=state, changed_ms=to_ms(change.at))
    if row.way == "key" and (known is None or not known.in_use):
        _use_cluster_key(conn, change, books.sealer, known)
    nodes.put(conn, row)
    if known is None or not known.in_use or known.certificate != row.certificate:
        change.record(conn, "node.admit", row.id, _said(known), _said(row))
        books.notary.admit(conn, _machine(row), row.way, change.at)
    elif known != replace(row, changed_ms=known.changed_ms):
        change.record(conn, "node.change", row.id, _said(known), _said(row))
    return row


def reject(conn: sqlite3.Connection, change: Change, row: NodeRow) -> NodeRow:
    """Do not show this candidate again. Raises `AdminError` where something else was decided meanwhile."""
    known = nodes.get(conn, row.id)
    if known is not None:
        raise AdminError(f"It is {known.state} by now.", advice="synapse node list --all shows it.")
    row = replace(row, state="rejected", changed_ms=to_ms(change.at))
    nodes.put(conn, row)
    change.record(conn, "node.reject", row.id, None, _said(row))
    return row


def drain(conn: sqlite3.Connection, change: Change, node_id: str, *, on: bool) -> NodeRow:
    """Give a machine no more calls, or calls again. Raises `AdminError` for what is no machine in use."""
    known = _in_use(conn, node_id)
    state: State = "draining" if on else "admitted"
    row = replace(known, state=state, changed_ms=to_ms(change.at))
    if known.state != state:
        nodes.put(conn, row)
        change.record(conn, "node.drain" if on else "node.resume", row.id, _said(known), _said(row))
    return row


def remove(conn: sqlite3.Connection, change: Change, books: Books, node_id: str) -> NodeRow | None:
    """Put a machine out: one that is pinned is revoked, and its pin forgotten, and stays so. What was rejected is
    forgotten whole.

    Returns what is still known of it. Raises `AdminError` where nothing was decided about it.
    """
    known = nodes.get(conn, node_id)
    if known is None:
        raise AdminError("It is none of the machines that were decided about.", advice="synapse node list shows them.")
    if known.state == "revoked":
        return known  # what is known of it keeps cluster keys from letting it in
    if known.trust == "pinned" and known.in_use:
        after = replace(known, state="revoked", certificate=None, changed_ms=to_ms(change.at))
        nodes.put(conn, after)
    else:
        after = None
        nodes.remove(conn, node_id)
    change.record(conn, "node.remove", node_id, _said(known), _said(after))
    if known.in_use:
        books.notary.revoke(conn, _machine(known), change.at)
    return after


def new_cluster_key(conn: sqlite3.Connection, change: Change, sealer: Sealer, row: ClusterKeyRow) -> ClusterKeyRow:
    """Put a cluster key in force, in the place of the one before."""
    before = cluster_secrets.cluster_key(conn, sealer)
    cluster_secrets.put_cluster_key(conn, sealer, row)
    change.record(conn, "cluster-key.new", "cluster key", _key_said(before), _key_said(row))
    return row


def revoke_cluster_key(conn: sqlite3.Connection, change: Change, sealer: Sealer) -> bool:
    """Nobody joins with it any more; who has joined stays. Whether there was one."""
    before = cluster_secrets.cluster_key(conn, sealer)
    if before is not None:
        cluster_secrets.remove_cluster_key(conn)
        change.record(conn, "cluster-key.revoke", "cluster key", _key_said(before), None)
    return before is not None


def _use_cluster_key(conn: sqlite3.Connection, change: Change, sealer: Sealer, known: NodeRow | None) -> None:
    if known is not None:
        raise AdminError(
            f"It was {known.state} before, so that no key lets it in.",
            advice="An administrator can: synapse node admit.",
        )
    key = cluster_secrets.cluster_key(conn, sealer)
    if key is None or not key.usable(to_ms(change.at)):
        raise AdminError("The cluster key is not in force any more.", advice="Make another: synapse cluster key new.")
    cluster_secrets.use_cluster_key(conn)


def _in_use(conn: sqlite3.Connection, node_id: str) -> NodeRow:
    known = nodes.get(conn, node_id)
    if known is None or not known.in_use:
        raise AdminError("It is no machine in use.", advice="synapse node list shows them.")
    return known


def _machine(row: NodeRow) -> KnownMachine:
    if row.certificate is None:
        trust = "loopback" if is_loopback(host_of(row.url)) else "open"
        return KnownMachine(row.id, row.name, trust, url=row.url)
    return KnownMachine(row.id, row.name, row.trust, certificate_sha256=hashlib.sha256(row.certificate).hexdigest())


def _said(row: NodeRow | None) -> object:
    """For the audit table: of a key, and of certificates to trust, no more than that another is another."""
    if row is None:
        return None
    return {
        "name": row.name,
        "trust": row.trust,
        "kind": row.kind,
        "url": row.url,
        "slots": row.slots,
        "state": row.state,
        "way": row.way,
        "key": _mark(row.sealed),
        "ca": _mark(None if row.ca is None else row.ca.encode()),
    }


def _mark(value: bytes | None) -> str | None:
    """What tells two values apart and says nothing of them: of a key it is made of what is sealed, never alike."""
    return None if value is None else hashlib.sha256(value).hexdigest()[:16]


def _key_said(row: ClusterKeyRow | None) -> object:
    return None if row is None else {"created_ms": row.created_ms, "expires_ms": row.expires_ms, "uses": row.uses}
