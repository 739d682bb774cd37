"""Listens to mDNS on every interface for nodes and plain Ollama machines. What it hears is a hint, never a proof.

Knows what is announced now, and nothing of who was admitted: an admitted machine does not depend on it.
"""

from collections.abc import Callable, Collection

from zeroconf.asyncio import AsyncZeroconf

from appliance.cluster.interfaces import READ_SECONDS, Interface
from appliance.cluster.lans import Lans
from appliance.cluster.listening import REFRESH_SECONDS, Ear
from appliance.cluster.sightings import Sighting


class Discovery:
    """What is announced in this network. `changed` is called from the event loop when `snapshot` gives another answer.

    `interfaces`: the names of those to use, else every LAN; `seconds`: how often they are read again; `refresh`: how
    often, in seconds, what was heard is looked at again.
    """

    def __init__(
        self,
        *,
        interfaces: tuple[str, ...] = (),
        changed: Callable[[], None],
        seconds: float = READ_SECONDS,
        refresh: float = REFRESH_SECONDS,
    ) -> None:
        self._refresh = refresh
        self._changed = changed
        self._ears: dict[str, Ear] = {}
        self._kept: frozenset[str] = frozenset()
        self._lans = Lans(self._listen, purpose="discovery", interfaces=interfaces, seconds=seconds)

    async def start(self) -> None:
        await self._lans.start()

    async def stop(self) -> None:
        await self._lans.stop()

    @property
    def problem(self) -> str | None:
        """In a sentence, why nothing is heard somewhere; None where nothing is wrong now."""
        return self._lans.problem

    def snapshot(self) -> tuple[Sighting, ...]:
        """Everything that is heard now, in a fixed order; a machine on two interfaces is there twice, under one key."""
        heard = [sighting for ear in self._ears.values() for sighting in ear.sightings()]
        return tuple(sorted(heard, key=lambda one: (one.kind, one.instance, one.key, one.interface)))

    def keep(self, keys: Collection[str]) -> None:
        """Sightings with these keys are never pushed out by a flood of others."""
        self._kept = frozenset(keys)

    async def _listen(self, opened: AsyncZeroconf, interface: Interface) -> None:
        ear = Ear(
            interface,
            own=lambda: self._lans.own,
            kept=lambda: self._kept,
            changed=self._changed,
            refresh=self._refresh,
        )
        self._ears[interface.name] = ear
        try:
            await ear.listen(opened.zeroconf)
        finally:
            del self._ears[interface.name]
            if ear.sightings():
                self._changed()
