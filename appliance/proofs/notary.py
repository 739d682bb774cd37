"""Writes the evidence: of a call its intent before anything is sent and its certificate at the end, and of machines
when they are let in and put out.

Each function runs inside the caller's write job, so that a certificate and its ledger row are one transaction.
"""

import sqlite3
from datetime import datetime

from appliance.proofs import certificate, log, machines
from appliance.proofs.certificate import Certificate, Intent
from appliance.proofs.envelope import CERTIFICATE, INTENT, NODE_ADMIT, NODE_REVOKE, Signed
from appliance.proofs.identity import Identity
from appliance.proofs.machines import KnownMachine, Way
from appliance.store import certificates
from appliance.store.log_entries import EntryRow


class Notary:
    def __init__(self, identity: Identity) -> None:
        self._signer = identity.signer
        self._origin = identity.origin

    def open(self, conn: sqlite3.Connection, intent: Intent) -> int:
        """Record that a call was accepted; its log index."""
        index, _ = log.append(
            conn,
            self._signer,
            INTENT,
            lambda index: certificate.intent_payload(intent, origin=self._origin, index=index),
        )
        certificates.open_intent(conn, intent.id, index)
        return index

    def close(
        self, conn: sqlite3.Connection, ended: Certificate, *, workspace_n: int, internal: bool = False
    ) -> Signed:
        """Certify an ended call and close its intent. `internal`: for the administrator's eyes alone.

        Raises:
            sqlite3.IntegrityError: the call has a certificate already.
        """
        index, signed = log.append(
            conn, self._signer, CERTIFICATE, lambda index: certificate.payload(ended, origin=self._origin, index=index)
        )
        certificates.insert(conn, ended.intent.id, index, workspace_n, internal=internal)
        return signed

    def close_recovered(
        self,
        conn: sqlite3.Connection,
        intent: EntryRow,
        proof_id: str,
        *,
        workspace_n: int,
        completed: datetime,
        internal: bool = False,
    ) -> Signed:
        """Certify as failed a call that an earlier process left open, from its intent alone."""
        opening = log.signed(intent).payload
        index, signed = log.append(
            conn,
            self._signer,
            CERTIFICATE,
            lambda index: certificate.recovered(opening, index=index, completed=completed),
        )
        certificates.insert(conn, proof_id, index, workspace_n, internal=internal)
        return signed

    def admit(self, conn: sqlite3.Connection, machine: KnownMachine, way: Way, at: datetime) -> None:
        """Record that a machine may be used from now on."""
        log.append(
            conn,
            self._signer,
            NODE_ADMIT,
            lambda index: machines.admitted(machine, way, at, origin=self._origin, index=index),
        )

    def revoke(self, conn: sqlite3.Connection, machine: KnownMachine, at: datetime) -> None:
        """Record that a machine is not used any more."""
        log.append(
            conn,
            self._signer,
            NODE_REVOKE,
            lambda index: machines.revoked(machine, at, origin=self._origin, index=index),
        )
