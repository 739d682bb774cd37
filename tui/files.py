"""Writes what is exported: whole or not at all, for its owner alone, and over another file only where that was said.

Must not know what is written, and asks nobody.
"""

import asyncio
import os
import secrets
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from appliance.admin.client import AdminError

MAX_NAME_BYTES = 255
"""Of what every usual file system takes."""

WHERE = "On the machine that the console runs on, readable by you alone."


class NotWritten(AdminError):
    """There is no file, or the one of before."""


class Taken(NotWritten):
    """Something has that name, and was not to be replaced."""


def full_path(typed: str) -> Path:
    """The absolute path of what a person types, `~` being their home directory.

    Raises:
        ValueError: with what may stand there.
    """
    if not typed or not typed.isprintable():
        raise ValueError("the path of a file, such as ~/calls.csv")
    try:
        # Not resolved: a name that is a link is told as it was typed.
        return Path(os.path.abspath(Path(typed).expanduser()))  # noqa: PTH100
    except RuntimeError as error:
        raise ValueError("a path whose home directory exists") from error


def problem(typed: str) -> str:
    """Why no file of this name can be written, in a sentence; "" where one can, or another is there."""
    try:
        path = full_path(typed)
    except ValueError as error:
        return f"Give {error}."
    if os.path.isdir(path):  # noqa: PTH112  which says no where others raise
        return f"{path} is a directory: name a file in it."
    if len(os.fsencode(path.name)) > MAX_NAME_BYTES:
        return f"A file's name has at most {MAX_NAME_BYTES} bytes: give a shorter one."
    return directory_problem(str(path.parent))


def directory_problem(typed: str) -> str:
    """The same of a directory that files are to be written into."""
    try:
        path = full_path(typed)
    except ValueError:
        return "Give a directory, such as ~."
    try:
        there = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        there = False
    except OSError as error:
        return f"{path} cannot be looked into ({error.strerror}): name another directory."
    return "" if there else f"There is no directory {path}: make it, or name another."


def taken(path: Path) -> bool:
    """Whether something has the name, be it a link that leads nowhere."""
    return os.path.lexists(path)


def holds(path: Path, data: bytes) -> bool:
    """Whether a file of this name has exactly these bytes already."""
    try:
        return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False


async def write(path: Path, pieces: AsyncIterator[bytes], *, replace: bool = False) -> int:
    """How many bytes the file has, once it has its name.

    Args:
        path: absolute. Another file of this name stays as it is unless `replace`.
        pieces: what is written. What they raise goes through, and leaves nothing behind.
        replace: put it in the place of another.

    Raises:
        Taken: the name is taken.
        NotWritten: there is no such directory, no right to write there, no room.
    """
    part = path.with_name(f".synapse-{secrets.token_hex(8)}.part")
    try:
        try:
            size = await _fill(part, pieces)
            await asyncio.to_thread(_name, part, path, replace)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise Taken(f"{path} is there already.", advice="Name another file.") from error
    except OSError as error:
        raise NotWritten(
            f"{path} is not written ({error.strerror or type(error).__name__}).",
            advice="Name a file where you may write, with free space.",
        ) from error
    return size


async def whole(data: bytes) -> AsyncIterator[bytes]:
    """All of it, as the pieces of `write`."""
    yield data


async def _fill(part: Path, pieces: AsyncIterator[bytes]) -> int:
    size = 0
    with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        async for piece in pieces:
            size += await asyncio.to_thread(out.write, piece)
        await asyncio.to_thread(_sync, out)
    return size


def _sync(out: BinaryIO) -> None:
    out.flush()
    os.fsync(out.fileno())


def _name(part: Path, path: Path, replace: bool) -> None:
    if not replace:
        # Made here and now: whoever took the name since it was looked at keeps it. Works where there are no links.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    part.replace(path)
