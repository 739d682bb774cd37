"""Reads a passphrase: from a file, from standard input, or typed unseen at a terminal."""

import getpass
import sys
from pathlib import Path

from appliance.admin.wire import InvalidInput
from appliance.backup.making import MIN_PASSPHRASE

MAX_BYTES = 4096

_PIPE = "Pipe it in with --passphrase-stdin, or name a file that others cannot read: --passphrase-file FILE."


def for_a_new_backup(file: str | None, *, stdin: bool) -> str:
    """Typed twice, since a backup whose passphrase nobody knows is none. Raises InvalidInput."""
    passphrase, typed = _read(file, stdin=stdin)
    if len(passphrase) < MIN_PASSPHRASE:
        raise InvalidInput(
            "The passphrase is too short.",
            advice=f"It has at least {MIN_PASSPHRASE} characters: whoever finds the file can try for years.",
        )
    if typed and _typed("The same again") != passphrase:
        raise InvalidInput("The two are not the same.", advice="Begin again.")
    return passphrase


def for_a_backup(file: str | None, *, stdin: bool) -> str:
    """Raises InvalidInput: none came."""
    return _read(file, stdin=stdin)[0]


def _read(file: str | None, *, stdin: bool) -> tuple[str, bool]:
    """The passphrase, without the end of its line, and whether it was typed."""
    if file is not None:
        return _text(_of_file(Path(file))), False
    if sys.stdin is None or (not stdin and not sys.stdin.isatty()):
        raise InvalidInput("There is no terminal to ask for the passphrase.", advice=_PIPE)
    if sys.stdin.isatty():
        return _typed("Passphrase of the backup"), True
    return _text(sys.stdin.buffer.read(MAX_BYTES + 1)), False


def _of_file(path: Path) -> bytes:
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}).", advice=_PIPE) from error


def _text(content: bytes) -> str:
    """Nothing of what came is quoted."""
    try:
        passphrase = content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise InvalidInput("What came is not text, so it is no passphrase.", advice=_PIPE) from None
    if not passphrase:
        raise InvalidInput("No passphrase came.", advice=_PIPE)
    if len(content) > MAX_BYTES or "\n" in passphrase:
        raise InvalidInput("What came is more than one line.", advice=_PIPE)
    return passphrase


def _typed(what: str) -> str:
    try:
        typed = getpass.getpass(f"{what} (it is not shown): ", stream=sys.stderr)
    except EOFError:
        typed = ""
    if not typed:
        raise InvalidInput("No passphrase was typed.", advice="Begin again.")
    return typed
