"""What the console borrows from the command line that starts it, so that it needs no part of the daemon."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from appliance.admin.client import Client, ledger_wire


@dataclass(frozen=True, slots=True)
class Step:
    """One check of a certificate: its name, how it went and what that means."""

    name: str
    state: Literal["ok", "bad", "missing"]
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All steps, and what they prove together and what not."""

    steps: tuple[Step, ...]
    good: bool
    statement: str


class Export(Protocol):
    def __call__(self, client: Client, which: ledger_wire.Which) -> AsyncIterator[bytes]:
        """The calls as CSV, in pieces."""
        ...


@dataclass(frozen=True, slots=True)
class Tools:
    """`verify` checks a certificate's file against the bytes of a key set, offline, in this process. `now` is the
    clock."""

    verify: Callable[[str, bytes, bytes], Verdict]
    export: Export
    now: Callable[[], datetime]
