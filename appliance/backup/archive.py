"""What is in a backup: a tar of a manifest, the installation's key and its database, written and read as a stream.

Knows nothing of encryption. The form is that of docs/backup.md, and `tar` reads it too.
"""

import hashlib
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, BinaryIO

import orjson

from appliance.backup.container import Content, damaged
from appliance.times import parse_rfc3339, rfc3339

MANIFEST = "manifest.json"
KEY = "secret.key"
DATABASE = "synapse.db"

FORMAT = 1

Keep = Callable[[str, Iterator[bytes]], None]
"""Takes a member by its name, in pieces; it must take them all."""

_BLOCK = 512
_END = bytes(2 * _BLOCK)
_PIECE = 256 * 1024
_MAX_MANIFEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Member:
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`installation` is the installation's own name; `members` are in the order in which they follow."""

    version: str
    schema: int
    created: datetime
    installation: str
    members: Mapping[str, Member]

    def encoded(self) -> bytes:
        return orjson.dumps(
            {
                "format": FORMAT,
                "version": self.version,
                "schema": self.schema,
                "created": rfc3339(self.created),
                "installation": self.installation,
                "members": {name: {"bytes": one.bytes, "sha256": one.sha256} for name, one in self.members.items()},
            },
            option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
        )


def measured(file: BinaryIO) -> Member:
    """Size and hash of a file, which is at its beginning before and after."""
    digest, size = hashlib.sha256(), 0
    while piece := file.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    file.seek(0)
    return Member(size, digest.hexdigest())


def size_of(manifest: Manifest) -> int:
    """Bytes of the whole archive."""
    sizes = [len(manifest.encoded()), *(one.bytes for one in manifest.members.values())]
    return sum(_BLOCK + size + _padding(size) for size in sizes) + len(_END)


def pieces(manifest: Manifest, key: bytes | None, database: BinaryIO) -> Iterator[bytes]:
    """The bytes of the archive. The database is read while they are taken; `key` is None where it stays out.

    Raises OSError: the database cannot be read, or became shorter.
    """
    yield from _small(MANIFEST, manifest.encoded(), manifest)
    if key is not None:
        yield from _small(KEY, key, manifest)
    size = manifest.members[DATABASE].bytes
    yield _entry(DATABASE, size, manifest)
    left = size
    while left:
        piece = database.read(min(_PIECE, left))
        if not piece:
            raise OSError("the copy of the database became shorter")
        left -= len(piece)
        yield piece
    yield bytes(_padding(size))
    yield _END


def read(content: Content, keep: Keep) -> Manifest:
    """Go through a whole archive and hand each member on to `keep`.

    Nothing that was handed on may be used before this returns: only then is everything known to be whole.

    Raises:
        StateError: it is damaged, or not what its manifest says.
    """
    try:
        with tarfile.open(fileobj=content, mode="r|", bufsize=_PIECE) as tar:
            manifest = _manifest(tar)
            for name, member in manifest.members.items():
                _hand_on(tar, name, member, keep)
            if tar.next() is not None:
                raise damaged("there is more in it than it says")
    except tarfile.TarError as error:
        raise damaged("its content cannot be read") from error
    while content.read(_PIECE):
        pass  # to the end of the file: that it was not cut is known only there
    return manifest


def nowhere(_: str, taken: Iterator[bytes]) -> None:
    """For `read`: looks at everything and keeps nothing."""
    for _piece in taken:
        pass


def _manifest(tar: tarfile.TarFile) -> Manifest:
    found = tar.next()
    file = None if found is None else tar.extractfile(found)
    if found is None or file is None or found.name != MANIFEST or found.size > _MAX_MANIFEST:
        raise damaged("it does not begin with its manifest")
    try:
        told: Any = orjson.loads(file.read())
        members = {name: Member(one["bytes"], one["sha256"]) for name, one in told["members"].items()}
        created = parse_rfc3339(told["created"])
        manifest = Manifest(told["version"], told["schema"], created, told["installation"], members)
        known = told["format"] == FORMAT and list(members) in ([DATABASE], [KEY, DATABASE])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged("its manifest cannot be read") from error
    if not known:
        raise damaged("its manifest names what this version does not know")
    return manifest


def _hand_on(tar: tarfile.TarFile, name: str, member: Member, keep: Keep) -> None:
    found = tar.next()
    file = None if found is None else tar.extractfile(found)
    if found is None or file is None or (found.name, found.size) != (name, member.bytes):
        raise damaged(f"{name} is not in it as it says")
    digest = hashlib.sha256()
    keep(name, _taken(file, digest.update))
    if digest.hexdigest() != member.sha256:
        raise damaged(f"{name} has another hash than it says")


def _taken(file: IO[bytes], look: Callable[[bytes], None]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        look(piece)
        yield piece


def _small(name: str, content: bytes, manifest: Manifest) -> Iterator[bytes]:
    yield _entry(name, len(content), manifest)
    yield content + bytes(_padding(len(content)))


def _entry(name: str, size: int, manifest: Manifest) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, 0o600, int(manifest.created.timestamp())
    return entry.tobuf(tarfile.GNU_FORMAT)  # sizes above 8 GiB too


def _padding(size: int) -> int:
    return -size % _BLOCK
