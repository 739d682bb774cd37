"""A stream of bytes in a file under a passphrase: no byte of it can be changed, added or taken away unnoticed.

Two lines say what it is and how the key is made; they are authenticated with every chunk that follows. Each chunk is
AES-256-GCM, its nonce is its number and whether it is the last (the STREAM construction of Hoang, Reyhanitabar, Rogaway
and Vizár, 2015, as in the age file format). Knows nothing of what the bytes are. docs/backup.md has the format.
"""

import base64
import binascii
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from appliance.errors import StateError
from appliance.times import parse_rfc3339, rfc3339

MAGIC = b"synapse-backup 1\n"
ANY_MAGIC = b"synapse-backup "

CHUNK = 64 * 1024
"""Bytes of content in a chunk; the last one may have fewer."""

TAG = 16
SALT_BYTES = 32

COST, BLOCKS, PARALLEL = 2**17, 8, 1
"""Of scrypt (RFC 7914): 128 MiB and a third of a second for each passphrase that is tried."""

MAX_COST, MAX_BLOCKS, MAX_PARALLEL = 2**20, 8, 4
"""What a file may ask of who opens it: 1 GiB."""

MAX_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Head:
    """What is told without the passphrase. `version` is the program's, `schema` the database's; `keys`: whether the
    installation's key is in it. `salt` is new for each file, and so is the key that comes of it."""

    version: str
    schema: int
    created: datetime
    keys: bool
    salt: bytes
    cost: int = COST
    blocks: int = BLOCKS
    parallel: int = PARALLEL

    def encoded(self) -> bytes:
        kdf = {
            "name": "scrypt",
            "n": self.cost,
            "r": self.blocks,
            "p": self.parallel,
            "salt": base64.b64encode(self.salt).decode(),
        }
        told = {
            "created": rfc3339(self.created),
            "kdf": kdf,
            "keys": self.keys,
            "schema": self.schema,
            "version": self.version,
        }
        return MAGIC + json.dumps(told, separators=(",", ":")).encode() + b"\n"


class WrongPassphrase(StateError):
    """It does not open the first chunk: or that, or the head, is damaged."""


def size_of(head: Head, content: int) -> int:
    """Bytes of the file that holds so many bytes of content."""
    return len(head.encoded()) + content + TAG * max(1, -(-content // CHUNK))


def sealed(head: Head, passphrase: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of the file, a chunk at a time, for content in pieces of any size."""
    told = head.encoded()
    cipher = AESGCM(_key(head, passphrase))
    yield told
    number, held = 0, bytearray()
    for piece in pieces:
        held += piece
        while len(held) > CHUNK:  # what is left at the end is the last one, even when it is full
            yield cipher.encrypt(_nonce(number, last=False), bytes(held[:CHUNK]), told)
            del held[:CHUNK]
            number += 1
    yield cipher.encrypt(_nonce(number, last=True), bytes(held), told)


def read_head(file: BinaryIO) -> Head:
    """The head of a file that is at its beginning, and is after the head then.

    Raises:
        StateError: it is no backup, or one of a form that this version does not know.
    """
    magic = file.readline(len(MAGIC))
    if magic != MAGIC:
        if magic.startswith(ANY_MAGIC):
            raise StateError(
                "The backup has a form that this version does not know.",
                advice="Install the version of Synapse that made it, or a newer one.",
            )
        raise StateError("The file is no backup.", advice="Name one that `synapse backup` has made.")
    line = file.readline(MAX_HEAD)
    try:
        return _head(json.loads(line), line)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, binascii.Error) as error:
        raise damaged("its second line cannot be read") from error


class Content(io.RawIOBase):
    """The content of a file whose head was read: to be read to its end, or it is not known to be whole.

    Raises `WrongPassphrase` when it is made, and `StateError` while it is read: the file is damaged.
    """

    def __init__(self, file: BinaryIO, head: Head, passphrase: str) -> None:
        self._file = file
        self._head = head.encoded()
        self._cipher = AESGCM(_key(head, passphrase))
        self._number = 0
        self._next = file.read(CHUNK + TAG)
        self._held = memoryview(b"")
        self._over = False
        try:
            self._open_next()
        except InvalidTag:
            raise WrongPassphrase(
                "The passphrase is wrong, or the beginning of the file is damaged.",
                advice="Type it again; else take another copy of the file.",
            ) from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held and not self._over:
            try:
                self._open_next()
            except InvalidTag:
                raise damaged("a part of it was changed or is missing") from None
        size = min(len(buffer), len(self._held))
        buffer[:size] = self._held[:size]
        self._held = self._held[size:]
        return size

    def _open_next(self) -> None:
        this, self._next = self._next, self._file.read(CHUNK + TAG)
        self._over = not self._next
        self._held = memoryview(self._cipher.decrypt(_nonce(self._number, last=self._over), this, self._head))
        self._number += 1


def damaged(what: str) -> StateError:
    return StateError(f"The backup is damaged: {what}.", advice="Take another copy of the file, or an older backup.")


def _head(told: Any, line: bytes) -> Head:
    kdf = told["kdf"]
    head = Head(
        version=_checked(str, told["version"]),
        schema=_checked(int, told["schema"]),
        created=parse_rfc3339(told["created"]),
        keys=_checked(bool, told["keys"]),
        salt=base64.b64decode(kdf["salt"], validate=True),
        cost=_within(kdf["n"], MAX_COST),
        blocks=_within(kdf["r"], MAX_BLOCKS),
        parallel=_within(kdf["p"], MAX_PARALLEL),
    )
    # What is authenticated is the head written again, so that it must be what the file has.
    if head.encoded() != MAGIC + line or head.cost < 2 or head.cost & (head.cost - 1):
        raise ValueError
    return head


def _checked(kind: type, value: object) -> Any:
    if type(value) is not kind:
        raise TypeError
    return cast(Any, value)


def _within(value: object, most: int) -> int:
    number: int = _checked(int, value)
    if not 1 <= number <= most:
        raise ValueError
    return number


def _key(head: Head, passphrase: str) -> bytes:
    """The same for a passphrase that another keyboard composes otherwise."""
    plain = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    return Scrypt(salt=head.salt, length=32, n=head.cost, r=head.blocks, p=head.parallel).derive(plain)


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])
