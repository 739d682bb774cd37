"""What a command leaves behind: a document for programs, lines for people, or bytes, and an exit code."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from appliance.errors import ProofError

DONE, FAILED, USAGE, EVIDENCE_MISSING = 0, 1, 2, 3
"""Exit codes. Source: operations.md, "Commands"."""


class EvidenceMissing(ProofError):
    """Nothing is known to be bad, but a check that was asked for cannot be made."""

    code = "evidence_missing"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`document` goes out with `--json`, `lines` without; `raw` and `stream` go out as they are either way, the
    stream while it is made. `notes` are for people too, on stderr, so that they are in nobody's data."""

    document: Any = None
    lines: tuple[str, ...] = ()
    raw: bytes | None = None
    stream: Iterator[bytes] | None = None
    notes: tuple[str, ...] = ()
    code: int = DONE
