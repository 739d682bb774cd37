"""Closes, at the start, the calls that an earlier process left open: evidence and ledger both say `failed`."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from appliance.calls import address
from appliance.calls.entries import ENTRIES
from appliance.calls.policy import Policy, fingerprint
from appliance.calls.routing import stays
from appliance.errors import StateError
from appliance.proofs.log import signed
from appliance.proofs.notary import Notary
from appliance.store import certificates, keys, ledger
from appliance.store.ledger import LedgerRow
from appliance.times import parse_rfc3339, to_ms


def close_open_calls(conn: sqlite3.Connection, notary: Notary, now: datetime, policies: Mapping[int, Policy]) -> int:
    """Give every open intent its `failed` certificate and ledger row; how many there were. `policies`: those in
    force, by the workspace's row number.

    How long such a call ran is unknown: its total time is 0. What it sent is unknown too, so it counts as having left
    the building, except where it cannot have.
    """
    intents = certificates.open_intents(conn)
    for intent in intents:
        payload: dict[str, Any] = signed(intent).payload
        caller = keys.by_id(conn, payload["key"])
        if caller is None:  # keys are revoked, never deleted
            raise StateError(
                "The log names a key that the database does not have.", advice="Restore the newest backup."
            )
        entry = ENTRIES[payload["request"]["endpoint"]]
        notary.close_recovered(
            conn,
            intent,
            payload["id"],
            workspace_n=caller.workspace_n,
            completed=now,
            internal=entry.internal,
        )
        row = LedgerRow(
            at_ms=to_ms(parse_rfc3339(payload["time"]["received"])),
            proof_id=payload["id"],
            workspace_n=caller.workspace_n,
            key_n=caller.key_n,
            user_n=caller.user_n,
            dialect=entry.dialect,
            address=payload["request"]["model"],
            ending="failed",
            total_ms=0,
            task=entry.task,
            left_building=int(not _stayed(payload, policies[caller.workspace_n])),
        )
        ledger.insert(conn, row)
    return len(intents)


def _stayed(payload: Mapping[str, Any], policy: Policy) -> bool:
    """Whether an intent shows that nothing of its call has left: the policy that it names is still the one in force,
    and lets it go nowhere else."""
    unchanged = payload["gateway"]["policy"] == fingerprint(policy)
    return unchanged and stays(policy, address.parse(payload["request"]["model"]))
