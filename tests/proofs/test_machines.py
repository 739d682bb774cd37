import sqlite3
from datetime import UTC, datetime

from appliance.proofs.envelope import NODE_ADMIT, NODE_REVOKE, Signer
from appliance.proofs.identity import Identity
from appliance.proofs.log import signed
from appliance.proofs.machines import KnownMachine
from appliance.proofs.notary import Notary
from appliance.store import log_entries

AT = datetime(2026, 11, 30, 8, 15, tzinfo=UTC)
PINNED = KnownMachine("a" * 52, "attic", "pinned", certificate_sha256="f" * 64)
OPEN = KnownMachine("url-abc", "10.0.0.3:8000", "open", url="http://10.0.0.3:8000/v1")


def test_both_entries_are_signed_statements_of_the_log(conn: sqlite3.Connection, signer: Signer):
    notary = Notary(Identity("office/synapse", signer))
    notary.admit(conn, PINNED, "words", AT)
    notary.revoke(conn, OPEN, AT)
    rows = [log_entries.get(conn, index) for index in (0, 1)]
    first, second = (signed(row) for row in rows if row is not None)
    assert (first.payload_type, second.payload_type) == (NODE_ADMIT, NODE_REVOKE)
    assert first.payload == {
        "v": 1,
        "log": {"origin": "office/synapse", "index": 0},
        "time": {"admitted": "2026-11-30T08:15:00.000Z"},
        "node": {"id": "a" * 52, "name": "attic", "trust": "pinned", "certificateSha256": "f" * 64},
        "by": "words",
    }
    assert second.payload == {
        "v": 1,
        "log": {"origin": "office/synapse", "index": 1},
        "time": {"revoked": "2026-11-30T08:15:00.000Z"},
        "node": {"id": "url-abc", "name": "10.0.0.3:8000", "trust": "open", "url": "http://10.0.0.3:8000/v1"},
    }
