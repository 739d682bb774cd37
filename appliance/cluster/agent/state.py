"""What a node keeps on its disk: its key, its name and the gateway that it belongs to. Each file is whole or absent."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from appliance.cluster.identity import Identity, id_of
from appliance.errors import StateError
from appliance.locks import held

IDENTITY = "identity.pem"
"""Key and certificate in one file: a crash can never leave one without the other."""
GATEWAY = "gateway.der"
NAME = "name"


class NodeState:
    """`gateway` is the certificate (DER) of the gateway that claimed this node, None while none has."""

    def __init__(self, directory: Path, identity: Identity, name: str, gateway: bytes | None) -> None:
        self._directory = directory
        self.identity = identity
        self.name = name
        self.gateway = gateway

    def pin(self, certificate: bytes) -> None:
        """Belong to this gateway from now on; it is on the disk when this returns. Raises StateError."""
        if certificate != self.gateway:
            _write(self._directory, GATEWAY, certificate)
            self.gateway = certificate


@contextmanager
def opened(directory: Path, *, name: str, fallback: str) -> Generator[NodeState]:
    """The state in this directory, made where there is none, held for one process at a time.

    `name` is what people call the machine; empty keeps the one that it has, and at the first start takes `fallback`.

    Raises:
        StateError: it cannot be read or written, is damaged, or another agent uses it.
    """
    with _sole_owner(directory):
        identity = _read_identity(directory) or _create_identity(directory)
        kept = (_read(directory, NAME) or b"").decode(errors="replace")
        chosen = name or kept or fallback
        if chosen != kept:
            _write(directory, NAME, chosen.encode())
        yield NodeState(directory, identity, chosen, _read_gateway(directory))


def forget_gateway(directory: Path) -> str | None:
    """Belong to nobody again; key and name stay.

    Returns the id of the gateway that it belonged to, empty where its certificate was damaged, None where it
    belonged to none. Raises StateError: an agent is running, or the file cannot be removed.
    """
    if not directory.is_dir():
        return None
    with _sole_owner(directory):
        certificate = _read(directory, GATEWAY)
        if certificate is None:
            return None
        try:
            (directory / GATEWAY).unlink()
            _sync(directory)
        except OSError as error:
            raise _unusable(directory, error) from error
    try:
        return id_of(certificate)
    except ValueError:
        return ""


def _read_gateway(directory: Path) -> bytes | None:
    certificate = _read(directory, GATEWAY)
    if certificate is not None:
        try:
            id_of(certificate)
        except ValueError as error:
            raise StateError(
                f"The file {directory / GATEWAY} is damaged.", advice="Run `synapse node reset`, and join again."
            ) from error
    return certificate


def _read_identity(directory: Path) -> Identity | None:
    content = _read(directory, IDENTITY)
    if content is None:
        return None
    path = directory / IDENTITY
    if path.stat().st_mode & 0o077:
        raise StateError(f"The key file {path} is readable by others.", advice=f"Run: chmod 600 {path}")
    try:
        return Identity.from_pem(content)
    except ValueError as error:
        raise StateError(
            f"The key file {path} is damaged.",
            advice="Put it back from a backup, or remove it: the machine then has a new key, and must join again.",
        ) from error


def _create_identity(directory: Path) -> Identity:
    identity = Identity.create()
    _write(directory, IDENTITY, identity.pem())
    return identity


def _read(directory: Path, name: str) -> bytes | None:
    try:
        return (directory / name).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(directory, error) from error


def _write(directory: Path, name: str, content: bytes) -> None:
    """Durably, even through a loss of power, and whole or not at all."""
    fresh = directory / f"{name}.new"
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(directory / name)
        _sync(directory)
    except OSError as error:
        raise _unusable(directory, error) from error


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _sole_owner(directory: Path) -> Generator[None]:
    taken = StateError(
        f"A node agent is running on the state directory {directory}.",
        advice="Stop it first (systemctl stop synapse-node).",
    )
    with ExitStack() as stack:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.chmod(0o700)
            stack.enter_context(held(directory / "lock", taken))
        except OSError as error:
            raise _unusable(directory, error) from error
        yield


def _unusable(directory: Path, error: OSError) -> StateError:
    return StateError(
        f"The node's state directory {directory} cannot be used ({error.strerror}).",
        advice="Name another with --state, or make it writable for this user.",
    )
