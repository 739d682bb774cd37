"""The log of signed entries: an index is given, the entry signed and stored, all in the caller's one transaction."""

import sqlite3
from collections.abc import Callable, Mapping

from appliance.proofs.envelope import Signed, Signer
from appliance.store import log_entries
from appliance.store.log_entries import EntryRow


def append(
    conn: sqlite3.Connection, signer: Signer, payload_type: str, build: Callable[[int], Mapping[str, object]]
) -> tuple[int, Signed]:
    """Sign what `build` makes for the next index, append it, and return the index and what was signed.

    Raises:
        ProofError: the payload lies outside the profile; nothing is appended.
    """
    index = log_entries.next_index(conn)
    signed = signer.sign(payload_type, build(index))
    log_entries.insert(
        conn, EntryRow(index, payload_type, signed.body, signed.keyid, signed.signature, signed.entry_hash)
    )
    return index, signed


def signed(row: EntryRow) -> Signed:
    """A stored entry as the signed statement it is."""
    return Signed(row.payload_type, row.body, row.keyid, row.signature)
