"""`synapse tls ca | new-ca`: what tools are told to trust. Neither needs a running daemon; the second wants none."""

import fcntl
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from appliance.admin.peers import login_of
from appliance.commands.outcome import Outcome
from appliance.errors import AdminError, StateError
from appliance.ids import Clock
from appliance.settings import Settings
from appliance.store import audit, tls_authority
from appliance.times import to_ms
from appliance.tls.running import CA_FILE

TRUST = (
    "Save it as synapse-ca.pem on each computer (its fingerprint: openssl x509 -in synapse-ca.pem -noout -sha256"
    " -fingerprint), then:",
    "  curl             curl --cacert synapse-ca.pem …",
    "  Python           SSL_CERT_FILE=… (OpenAI and Anthropic SDK, httpx), REQUESTS_CA_BUNDLE=… (requests)",
    "  Node.js          NODE_EXTRA_CA_CERTS=synapse-ca.pem (Claude Code, n8n, SDKs in JavaScript)",
    "  Windows          certutil -addstore -f Root synapse-ca.pem (as administrator)",
    "  macOS            sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain"
    " synapse-ca.pem",
    "  Debian, Ubuntu   copy it to /usr/local/share/ca-certificates/synapse-ca.crt, then update-ca-certificates",
    "  Fedora           copy it to /etc/pki/ca-trust/source/anchors/, then update-ca-trust",
)
"""How tools are told. docs/service.md says more."""


def ca(settings: Settings) -> Outcome:
    """The CA's certificate in PEM.

    Raises:
        AdminError: there is none, or it may not be read.
    """
    reasons: list[str | None] = []
    for directory in _places(settings):
        try:
            return Outcome(raw=(directory / CA_FILE).read_bytes(), notes=TRUST)
        except FileNotFoundError:
            continue
        except OSError as error:
            reasons.append(error.strerror)
    if reasons:
        raise AdminError(
            f"The CA's certificate cannot be read ({reasons[0]}).",
            advice="Run this as root, or start the daemon and be in its group.",
        )
    raise AdminError(
        f"There is no CA in {settings.state_dir}.",
        advice='It is made when the daemon starts with gateway.tls = "auto" (docs/service.md).',
    )


def new_ca(settings: Settings, clock: Clock) -> Outcome:
    """Forget the CA, with its key, so that the next start makes another.

    Raises:
        StateError: the daemon runs, or the database cannot be changed by this user.
        AdminError: there is no CA.
    """
    try:
        with _sole_user(settings.state_dir), closing(_opened(settings.state_dir / "synapse.db")) as conn, conn:
            conn.execute("BEGIN IMMEDIATE")
            if not tls_authority.remove(conn):
                raise AdminError(f"There is no CA in {settings.state_dir}.", advice="Start the daemon: it makes one.")
            who, at_ms = login_of(os.getuid()), to_ms(clock())
            audit.insert(conn, at_ms=at_ms, who=who, action="tls.new-ca", subject="tls", before=None, after=None)
        for directory in _places(settings):
            (directory / CA_FILE).unlink(missing_ok=True)
    except (sqlite3.Error, OSError) as error:
        raise StateError(
            f"The CA cannot be forgotten ({error}).", advice="Start the daemon once, stop it, and try again."
        ) from error
    said = "The CA is forgotten. The next start of the daemon makes another, which tools have to be told to trust."
    return Outcome({"said": said}, (said,), notes=("Then: synapse tls ca",))


def _places(settings: Settings) -> tuple[Path, ...]:
    return settings.state_dir, settings.admin.socket.parent


@contextmanager
def _sole_user(state_dir: Path) -> Generator[None]:
    """Nobody else in the state directory, for the user who owns it: files of another would lock the daemon out."""
    owner = state_dir.stat().st_uid
    if owner != os.geteuid():
        raise StateError(
            f"The state directory {state_dir} is {login_of(owner)}'s.",
            advice=f"Run this as that user: sudo -u {login_of(owner)} synapse tls new-ca",
        )
    lock = os.open(state_dir / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise StateError(
            "The daemon is running.", advice="Stop it (systemctl stop synapse), run this, and start it again."
        ) from error
    finally:
        os.close(lock)


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=rw", uri=True, isolation_level=None)
