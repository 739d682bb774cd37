"""The messages of a join: one JSON object a line, read strictly. Knows nothing of what they prove."""

import asyncio
import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from appliance.cluster.join_errors import ANSWERED, Failure, JoinError

VERSION = 1
MAX_LINE = 8192
"""Bytes of a message with its line end; the longest of ours has some 800."""
NONCE_BYTES = 32
MAX_NAME = 64
MAX_SLOTS = 1024

Way = Literal["key", "words"]
"""What lets the node in: the cluster key, or an administrator who compared words."""
WAYS: tuple[Way, ...] = ("key", "words")

_MAX_CERTIFICATE = 2048
_MAX_SIGNATURE = 72
"""Bytes of an ECDSA signature on P-256 in DER."""
_PROOF_BYTES = 32


@dataclass(frozen=True, slots=True)
class Hello:
    """`certificate` is the gateway's, in DER."""

    certificate: bytes
    nonce: bytes

    def line(self) -> bytes:
        return _line(v=VERSION, certificate=_text(self.certificate), nonce=_text(self.nonce))


@dataclass(frozen=True, slots=True)
class Challenge:
    """`ways` are those that the node offers this gateway."""

    nonce: bytes
    ways: tuple[Way, ...]

    def line(self) -> bytes:
        return _line(v=VERSION, nonce=_text(self.nonce), ways=self.ways)


@dataclass(frozen=True, slots=True)
class Claim:
    """`proof` is None for the way `words`."""

    way: Way
    signature: bytes
    proof: bytes | None

    def line(self) -> bytes:
        return _line(way=self.way, signature=_text(self.signature), proof=self.proof and _text(self.proof))


@dataclass(frozen=True, slots=True)
class Welcome:
    """`port` is the node's data port; `slots` how many calls at once it takes, None where it does not say."""

    proof: bytes | None
    signature: bytes
    name: str
    port: int
    slots: int | None

    def line(self) -> bytes:
        proof = self.proof and _text(self.proof)
        return _line(proof=proof, signature=_text(self.signature), name=self.name, port=self.port, slots=self.slots)


def refusal(failure: Failure) -> bytes:
    return _line(error=failure.value)


def read_hello(line: bytes) -> Hello:
    """Raises JoinError, like every function here that reads."""
    fields = _fields(line, "v", "certificate", "nonce")
    _check_version(fields)
    return Hello(_bytes(fields["certificate"], 1, _MAX_CERTIFICATE), _bytes(fields["nonce"], NONCE_BYTES, NONCE_BYTES))


def read_challenge(line: bytes) -> Challenge:
    fields = _fields(line, "v", "nonce", "ways", may_refuse=True)
    _check_version(fields)
    ways = fields["ways"]
    if not isinstance(ways, list) or not ways:
        raise JoinError(Failure.BAD_MESSAGE)
    offered: tuple[Way, ...] = tuple(_way(way) for way in cast(list[object], ways))
    return Challenge(_bytes(fields["nonce"], NONCE_BYTES, NONCE_BYTES), offered)


def read_claim(line: bytes) -> Claim:
    fields = _fields(line, "way", "signature", "proof")
    return Claim(_way(fields["way"]), _bytes(fields["signature"], 1, _MAX_SIGNATURE), _read_proof(fields["proof"]))


def read_welcome(line: bytes) -> Welcome:
    fields = _fields(line, "proof", "signature", "name", "port", "slots", may_refuse=True)
    slots = fields["slots"]
    return Welcome(
        proof=_read_proof(fields["proof"]),
        signature=_bytes(fields["signature"], 1, _MAX_SIGNATURE),
        name=_name(fields["name"]),
        port=_number(fields["port"], 65535),
        slots=None if slots is None else _number(slots, MAX_SLOTS),
    )


async def read_line(reader: asyncio.StreamReader) -> bytes:
    """The next message, whole. The reader's limit must be MAX_LINE. Raises JoinError, and OSError as the reader."""
    try:
        line = await reader.readline()
    except ValueError:  # longer than the limit
        raise JoinError(Failure.BAD_MESSAGE) from None
    if not line:
        raise JoinError(Failure.CLOSED)
    return line


def is_name(text: str) -> bool:
    """Whether a node may bear this name: it is shown on screens, and written to logs."""
    return 1 <= len(text) <= MAX_NAME and text.isprintable() and text == text.strip()


def _line(**fields: Any) -> bytes:
    return orjson.dumps(fields) + b"\n"


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _fields(line: bytes, *names: str, may_refuse: bool = False) -> Mapping[str, object]:
    """Exactly these fields of a message. Where the other side `may_refuse`, its refusal is raised."""
    if len(line) > MAX_LINE or not line.endswith(b"\n"):
        raise JoinError(Failure.BAD_MESSAGE)
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise JoinError(Failure.BAD_MESSAGE) from None
    if not isinstance(found, dict):
        raise JoinError(Failure.BAD_MESSAGE)
    fields = cast(dict[str, object], found)
    if may_refuse and fields.keys() == {"error"}:
        known = {failure.value: failure for failure in ANSWERED}
        error = fields["error"]
        raise JoinError(known.get(error, Failure.BAD_MESSAGE) if isinstance(error, str) else Failure.BAD_MESSAGE)
    if fields.keys() != set(names):
        raise JoinError(Failure.BAD_MESSAGE)
    return fields


def _check_version(fields: Mapping[str, object]) -> None:
    if _number(fields["v"], VERSION) != VERSION:
        raise JoinError(Failure.BAD_MESSAGE)


def _bytes(value: object, least: int, most: int) -> bytes:
    if not isinstance(value, str):
        raise JoinError(Failure.BAD_MESSAGE)
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise JoinError(Failure.BAD_MESSAGE) from None
    if not least <= len(raw) <= most:
        raise JoinError(Failure.BAD_MESSAGE)
    return raw


def _read_proof(value: object) -> bytes | None:
    return None if value is None else _bytes(value, _PROOF_BYTES, _PROOF_BYTES)


def _way(value: object) -> Way:
    for way in WAYS:
        if value == way:
            return way
    raise JoinError(Failure.BAD_MESSAGE)


def _number(value: object, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise JoinError(Failure.BAD_MESSAGE)
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not is_name(value):
        raise JoinError(Failure.BAD_MESSAGE)
    return value
