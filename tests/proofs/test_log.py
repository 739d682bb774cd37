import sqlite3

import pytest

from appliance.errors import ProofError
from appliance.proofs import log
from appliance.proofs.envelope import INTENT, Signer
from appliance.store import log_entries


def test_the_index_is_in_what_is_signed(conn: sqlite3.Connection, signer: Signer):
    for expected in range(3):
        index, signed = log.append(conn, signer, INTENT, lambda n: {"index": n})
        assert index == expected
        assert signed.payload == {"index": expected}
        row = log_entries.get(conn, index)
        assert row is not None
        assert log.signed(row) == signed
        assert row.entry == signed.entry_hash


def test_what_cannot_be_signed_takes_no_index(conn: sqlite3.Connection, signer: Signer):
    with pytest.raises(ProofError):
        log.append(conn, signer, INTENT, lambda n: {"share": 0.5})
    assert log_entries.next_index(conn) == 0
