"""`synapse proof list | show | keys | verify`. Only `verify` reads files, and it needs no daemon."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from appliance.admin import looks, wire
from appliance.admin.client import Client
from appliance.commands import text
from appliance.commands.outcome import EvidenceMissing, Outcome

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A certificate has some kilobytes."""

KEYS_FILE = "keys.json"
"""Where the daemon keeps its public keys, in the state directory."""

_HOW_TO_GET_KEYS = f"Write them with: synapse proof keys > {KEYS_FILE}, and give --keys {KEYS_FILE}."


async def show_all(client: Client, limit: int | None, before: int | None) -> Outcome:
    found = await client.proofs(limit=limit, before=before)
    rows = [
        (row.id, looks.moment(row.received), row.model or looks.ABSENT, row.answered_by or looks.ABSENT, row.ending)
        for row in found.proofs
    ]
    lines = text.table(("ID", "RECEIVED", "ASKED", "ANSWERED", "ENDING"), rows, whole=(0, 1, 4))
    more = () if found.next_before is None else (f"Older ones: synapse proof list --before {found.next_before}",)
    return Outcome(wire.encode(found), lines if rows else ("There is no certificate yet.",), notes=more)


async def show(client: Client, proof_id: str) -> Outcome:
    """The exact bytes of the file that was signed: what `verify` takes, to the last byte."""
    return Outcome(raw=await client.proof(proof_id))


async def keys(client: Client) -> Outcome:
    return Outcome(raw=await client.proof_keys())


def verify(files: Sequence[str], keys_file: str | None, state_dir: Callable[[], Path]) -> Outcome:
    """Check certificate files; `-` is standard input.

    Args:
        files: the certificates.
        keys_file: the public keys, as the auditor got them.
        state_dir: where to look for them otherwise, asked only then.

    Raises:
        EvidenceMissing: a file that was named cannot be read.
    """
    from appliance.proofs import verify as offline  # cryptography takes its time to load

    certificates = {name: _read(name) for name in files}
    keys, source, note = _own_keys(state_dir() / KEYS_FILE) if keys_file is None else _given_keys(keys_file)
    report = offline.verify(certificates, keys)
    document = {**offline.to_json(report), "keys": source}
    return Outcome(document, tuple(offline.render(report)), notes=(note,), code=report.exit_code)


def _given_keys(name: str) -> tuple[bytes | None, str | None, str]:
    return _read(name), name, f"Checked with the public keys of {looks.printable(name)}."


def _own_keys(path: Path) -> tuple[bytes | None, str | None, str]:
    """The keys that a daemon keeps on this machine; without them the rest is checked all the same."""
    try:
        found = path.read_bytes()
    except OSError:
        return None, None, f"There are no public keys here ({path}). {_HOW_TO_GET_KEYS}"
    return found, str(path), f"Checked with this machine's own public keys, {path}. An auditor gives --keys instead."


def _read(name: str) -> bytes:
    try:
        if name == "-":
            if sys.stdin is None:
                raise OSError(0, "there is no standard input")
            data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise OSError(0, f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB")
        return data
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise EvidenceMissing(
            f"{looks.printable(name)} cannot be read ({reason}).", advice="Give its right path."
        ) from error
