"""Where a pinned machine may be: its address is a hint, which its certificate proves or disproves.

So a machine that has moved is found again, and a poisoned address takes nothing: it fails in TLS, and the one that is
known stays (cluster.md, "What mDNS is for").
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import ip_address

from appliance.cluster.health import Prober
from appliance.cluster.machine import Kind, Machine

MAX_PLACES = 8
"""Of one machine; so many are tried in turn where it does not answer."""


def url_at(address: str, port: int) -> str:
    """Of a pinned machine's data port."""
    host = f"[{address}]" if ip_address(address).version == 6 else address
    return f"https://{host}:{port}"


class Places:
    """The URLs at which each machine was heard lately, by its id."""

    def __init__(self) -> None:
        self._urls: dict[str, tuple[str, ...]] = {}

    def hear(self, machine_id: str, urls: Iterable[str]) -> bool:
        """These are all at which it is heard now. Whether that is news."""
        heard = tuple(dict.fromkeys(urls))[:MAX_PLACES]
        before = self._urls.get(machine_id, ())
        self._urls[machine_id] = heard
        return heard != before

    def of(self, machine_id: str) -> tuple[str, ...]:
        return self._urls.get(machine_id, ())

    def forget(self, machine_id: str) -> None:
        self._urls.pop(machine_id, None)


class FindingProber:
    """Asks each machine in its own way, and a pinned one that does not answer wherever else it was heard."""

    def __init__(self, by_kind: Mapping[Kind, Prober], places: Places) -> None:
        self._by_kind = by_kind
        self._places = places

    async def probe(self, machine: Machine) -> Machine:
        """The machine as it is now, at the first of its places where it answers."""
        prober = self._by_kind[machine.kind]
        found = await prober.probe(machine)
        if found.healthy or machine.trust != "pinned":
            return found
        for url in self._places.of(machine.id):
            if url != machine.url:
                elsewhere = await prober.probe(replace(machine, url=url))
                if elsewhere.healthy:
                    return elsewhere
        return found
