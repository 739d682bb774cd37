"""What the log says when a machine is let in or put out: the payloads of `node-admit` and `node-revoke`.

So that an auditor sees which machines a certificate could name, and since when. It must not know storage or the clock.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from appliance.proofs.certificate import timestamp
from appliance.proofs.profile import VERSION, Trust

Way = Literal["key", "words", "administrator"]
"""By the cluster key, by the machine's words, or by an administrator's decision about an address."""


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """`id` is what certificates call it. `certificate_sha256` (hex, of the DER) is of a pinned machine, and `url` is
    where an open one is, which is known by nothing else."""

    id: str
    name: str
    trust: Trust
    certificate_sha256: str | None = None
    url: str | None = None


def admitted(machine: KnownMachine, way: Way, at: datetime, *, origin: str, index: int) -> dict[str, object]:
    """The payload of the entry at `index` of the log named `origin`: the machine may be used from here on."""
    return {
        "v": VERSION,
        "log": {"origin": origin, "index": index},
        "time": {"admitted": timestamp(at)},
        "node": _machine(machine),
        "by": way,
    }


def revoked(machine: KnownMachine, at: datetime, *, origin: str, index: int) -> dict[str, object]:
    """The payload of the entry at `index` of the log named `origin`: the machine is not used any more."""
    return {
        "v": VERSION,
        "log": {"origin": origin, "index": index},
        "time": {"revoked": timestamp(at)},
        "node": _machine(machine),
    }


def _machine(machine: KnownMachine) -> dict[str, object]:
    said: dict[str, object] = {"id": machine.id, "name": machine.name, "trust": machine.trust}
    if machine.certificate_sha256 is not None:
        said["certificateSha256"] = machine.certificate_sha256
    if machine.url is not None:
        said["url"] = machine.url
    return said
