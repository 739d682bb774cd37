import sqlite3
from datetime import UTC, datetime

import pytest

from appliance.proofs.certificate import Certificate, Intent
from appliance.proofs.envelope import Signer
from appliance.proofs.identity import Identity
from appliance.proofs.log import signed
from appliance.proofs.notary import Notary
from appliance.proofs.profile import check_certificate, check_intent
from appliance.store import certificates, log_entries

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def conn(conn: sqlite3.Connection) -> sqlite3.Connection:
    conn.execute("INSERT INTO workspaces (n, id, name, created_ms) VALUES (1, 'ws', 'w', 0)")
    return conn


@pytest.fixture
def notary(signer: Signer) -> Notary:
    return Notary(Identity("office/synapse", signer))


def test_intent_first_then_the_certificate_that_names_it(
    conn: sqlite3.Connection, notary: Notary, certificate: Certificate
):
    index = notary.open(conn, certificate.intent)
    opening = log_entries.get(conn, index)
    assert opening is not None
    check_intent(signed(opening).payload)
    assert [row.n for row in certificates.open_intents(conn)] == [index]
    closed = notary.close(conn, certificate, workspace_n=1)
    check_certificate({**closed.payload, "log": {"origin": "x", "index": 999, "intent": 412}})
    assert closed.payload["log"] == {"origin": "office/synapse", "index": index + 1, "intent": certificate.intent_index}
    assert certificates.open_intents(conn) == []
    assert certificates.get(conn, certificate.intent.id) is not None


def test_what_is_internal_is_so_however_its_call_was_closed(
    conn: sqlite3.Connection, notary: Notary, certificate: Certificate
):
    notary.open(conn, certificate.intent)
    (opening,) = certificates.open_intents(conn)
    conn.execute("SAVEPOINT opened")
    notary.close(conn, certificate, workspace_n=1, internal=True)
    assert certificates.get(conn, certificate.intent.id) is not None
    assert certificates.get(conn, certificate.intent.id, 1) is None
    conn.execute("ROLLBACK TO opened")
    notary.close_recovered(conn, opening, certificate.intent.id, workspace_n=1, completed=NOW, internal=True)
    assert certificates.get(conn, certificate.intent.id) is not None
    assert certificates.get(conn, certificate.intent.id, 1) is None


def test_a_call_is_certified_once(conn: sqlite3.Connection, notary: Notary, certificate: Certificate):
    notary.open(conn, certificate.intent)
    notary.close(conn, certificate, workspace_n=1)
    with pytest.raises(sqlite3.IntegrityError):
        notary.close(conn, certificate, workspace_n=1)


def test_an_open_intent_is_closed_from_itself_alone(conn: sqlite3.Connection, notary: Notary, intent: Intent):
    notary.open(conn, intent)
    (opening,) = certificates.open_intents(conn)
    closed = notary.close_recovered(conn, opening, intent.id, workspace_n=1, completed=NOW)
    check_certificate(closed.payload)
    assert closed.payload["recovered"] is True
    assert closed.payload["request"] == signed(opening).payload["request"]
    assert certificates.open_intents(conn) == []
