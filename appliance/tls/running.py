"""The gateway's TLS while it runs: which context its listener has, and what a reload does.

The only module here that knows the settings and the database.
"""

import logging
import sqlite3
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from appliance.errors import StateError
from appliance.ids import Clock
from appliance.settings import Settings
from appliance.store import tls_authority
from appliance.store.database import Database
from appliance.store.sealing import Sealer
from appliance.tasks import Tasks
from appliance.tls import files
from appliance.tls.authority import Authority, Network
from appliance.tls.automatic import Automatic
from appliance.tls.contexts import Handshakes
from appliance.tls.names import Names, read_names

_log = logging.getLogger(__name__)

CA_FILE = "ca.pem"
"""In the state directory, and beside the admin socket for those who may use that: what tools are told to trust."""

WARN_DAYS = 21
"""A certificate of the administrator's that ends sooner is worth a warning."""


class Tls(Protocol):
    @property
    def context(self) -> ssl.SSLContext:
        """What to listen with, from the start to the end."""
        ...

    async def reload(self) -> str:
        """Have a new certificate for the handshakes to come; a sentence that says so.

        Raises:
            ConfigError: the files are not what they must be; the old certificate stays in use.
        """
        ...


class FromFiles:
    """Raises ConfigError as `files.load`."""

    def __init__(self, paths: tuple[Path, Path], clock: Clock) -> None:
        self._paths = paths
        self._clock = clock
        self._handshakes = Handshakes(self._load().context)

    @property
    def context(self) -> ssl.SSLContext:
        return self._handshakes.context

    async def reload(self) -> str:
        loaded = self._load()  # some milliseconds, once in months
        self._handshakes.use(loaded.context)
        return f"new connections get the certificate of {self._paths[0]}, which holds until {loaded.ends:%Y-%m-%d}"

    def _load(self) -> files.Loaded:
        loaded = files.load(*self._paths, now := self._clock())
        if loaded.ends - now < timedelta(days=WARN_DAYS):
            _log.warning("the certificate %s ends on %s: have a new one issued", self._paths[0], loaded.ends.date())
        return loaded


class FromAuthority:
    def __init__(self, automatic: Automatic) -> None:
        self._automatic = automatic

    @property
    def context(self) -> ssl.SSLContext:
        return self._automatic.handshakes.context

    async def reload(self) -> str:
        await self._automatic.look(always=True)
        return "new connections get a new certificate of the same CA"


@asynccontextmanager
async def running_tls(
    settings: Settings, *, database: Database, sealer: Sealer, clock: Clock
) -> AsyncGenerator[Tls | None]:
    """What the settings say; None for plain HTTP.

    Raises:
        ConfigError: the files of the settings are not what they must be.
        StateError: the CA's key does not open, or its certificate cannot be written.
    """
    gateway = settings.gateway
    if gateway.tls == "off":
        yield None
    elif gateway.tls_files is not None:
        yield FromFiles(gateway.tls_files, clock)
    else:
        tasks = Tasks()

        def read() -> Names:
            return read_names(gateway.host, gateway.tls_names)

        names, networks = read(), settings.local.networks
        authority = await database.write(lambda conn: _authority(conn, sealer, names, networks))
        _publish(authority.pem, settings)
        automatic = Automatic(authority, read, clock)
        tasks.spawn("tls certificate", automatic.watch())
        try:
            yield FromAuthority(automatic)
        finally:
            await tasks.cancel()


def reachable_by(settings: Settings, clock: Clock) -> str | None:
    """A name that the certificate of the settings holds, for the base URL; None where an address will do.

    Raises:
        ConfigError: as `files.load`.
    """
    if settings.gateway.tls_files is None:
        return None
    names = files.load(*settings.gateway.tls_files, clock()).names
    return names[0] if names else None


def _authority(conn: sqlite3.Connection, sealer: Sealer, names: Names, networks: tuple[Network, ...]) -> Authority:
    """The one of this installation, made when it is first needed."""
    kept = tls_authority.get(conn, sealer)
    if kept is not None:
        return Authority(*kept)
    made = Authority.create(names, networks)
    tls_authority.put(conn, sealer, made.certificate, made.key)
    _log.info("this installation has a CA now, %s", made.fingerprint)
    return made


def _publish(pem: bytes, settings: Settings) -> None:
    """Keep the CA's certificate in files: it can be had while the daemon is down, and by every administrator."""
    for directory, mode in {settings.admin.socket.parent: 0o644, settings.state_dir: 0o600}.items():
        fresh = directory / f"{CA_FILE}.new"
        try:
            directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            fresh.write_bytes(pem)
            fresh.chmod(mode)
            fresh.replace(directory / CA_FILE)
        except OSError as error:
            raise StateError(
                f"The CA's certificate cannot be written to {directory} ({error.strerror}).",
                advice="Free disk space there, and let the user who runs Synapse write to it.",
            ) from error
