"""What is heard on one interface: the names that are announced, and what their records say. Bounded, whatever comes.

Knows nothing of candidates or of who was admitted. The browser's handler only notes; one loop looks at what was
noted, takes what the cache has, and asks for the rest.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

import zeroconf
from zeroconf import (
    DNSPointer,  # pyright: ignore[reportPrivateImportUsage]  public, but not in its __all__
    DNSQuestionType,
    ServiceStateChange,
    Zeroconf,
)
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo

from appliance.cluster.interfaces import Address, Interface
from appliance.cluster.sightings import NODE_TYPE, OLLAMA_TYPE, Sighting, read_sighting
from appliance.tasks import Tasks

MAX_SERVICES = 256
"""Names that are followed on one interface; an office has some dozens."""

MAX_NEW_NAMES = 2_000
"""Names that one browser hears of before it is replaced: it remembers each until that one's own end."""

MAX_QUESTIONS = 8
"""Services of one interface that are asked about at once."""

ANSWER_SECONDS = 3.0

ROUND_SECONDS = 0.1
"""Between two looks at what was noted: a flood is looked at ten times a second, and not once a packet."""

SETTLE_SECONDS = 1.5
"""An address that was replaced is valid for one second more (RFC 6762, 10.2)."""

REFRESH_SECONDS = 30.0
"""Host records live for 120 s (RFC 6762, 10): a machine that died without a goodbye is noticed when they end."""

MAX_REFRESH_SECONDS = 600.0
"""Between two questions for a machine that does not answer, while its name is still valid."""

BROWSE_AGAIN_SECONDS = 600.0
"""An announcement is sent three times and then no more: one that a Wi-Fi lost is found by asking again."""


@dataclass(slots=True, eq=False)
class _Name:
    """One that is announced. `due` is the loop's time at which its records are looked at again."""

    type: str
    name: str
    due: float = 0.0
    noted: bool = True
    said_goodbye: bool = False
    unsure: bool = False
    asking: bool = False
    failures: int = 0
    sighting: Sighting | None = None


class Ear:
    """Listens on one interface. `own`: this machine's addresses; `kept`: keys of sightings that no flood pushes out."""

    def __init__(
        self,
        interface: Interface,
        *,
        own: Callable[[], Collection[Address]],
        kept: Callable[[], Collection[str]],
        changed: Callable[[], None],
        refresh: float = REFRESH_SECONDS,
    ) -> None:
        self._interface = interface
        self._own = own
        self._kept = kept
        self._changed = changed
        self._refresh = refresh
        self._names: dict[str, _Name] = {}
        self._new_names = 0
        self._noted = asyncio.Event()
        self._tasks = Tasks()
        self._told: tuple[Sighting, ...] = ()

    def sightings(self) -> tuple[Sighting, ...]:
        return tuple(one.sighting for one in self._names.values() if one.sighting is not None)

    async def listen(self, zc: Zeroconf) -> None:
        """Until it is cancelled."""
        try:
            while True:
                self._new_names = 0
                # Answers that are sent to all (QM) are heard also where another program shares port 5353 with us.
                browser = AsyncServiceBrowser(
                    zc, [NODE_TYPE, OLLAMA_TYPE], handlers=[self._hear], question_type=DNSQuestionType.QM
                )
                try:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(BROWSE_AGAIN_SECONDS):
                            await self._follow(zc)
                finally:
                    await browser.async_cancel()
                self._forget_the_rest(zc)
        finally:
            await self._tasks.cancel()

    def _hear(self, *, service_type: str, name: str, state_change: ServiceStateChange, **_: object) -> None:
        """The browser's handler; it must not block."""
        known = self._names.get(name.lower())
        if state_change is ServiceStateChange.Removed:
            if known is not None:
                known.said_goodbye = True
        elif known is not None:
            known.noted, known.unsure, known.failures = True, False, 0
        else:
            self._new_names += 1
            if len(self._names) >= MAX_SERVICES and not self._push_out():
                return
            self._names[name.lower()] = _Name(service_type, name)
        self._noted.set()

    def _push_out(self) -> bool:
        """Whether a place was made: the oldest name goes that came to nothing, else the oldest that nobody keeps."""
        kept = self._kept()
        held = self._names.items()
        worst = next((key for key, one in held if one.sighting is None), None)
        worst = worst or next((key for key, one in held if one.sighting and one.sighting.key not in kept), None)
        if worst is not None:
            del self._names[worst]
        return worst is not None

    async def _follow(self, zc: Zeroconf) -> None:
        """Until there were too many new names."""
        now = asyncio.get_running_loop().time
        while True:
            self._noted.clear()
            for key, one in list(self._names.items()):
                self._look(zc, key, one, now())
            self._tell()
            await asyncio.sleep(ROUND_SECONDS)
            if self._new_names >= MAX_NEW_NAMES:
                return
            next_due = min((one.due for one in self._names.values() if not one.asking), default=now() + self._refresh)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(next_due):
                    await self._noted.wait()

    def _tell(self) -> None:
        if (sightings := self.sightings()) != self._told:
            self._told = sightings
            self._changed()

    def _look(self, zc: Zeroconf, key: str, one: _Name, now: float) -> None:
        if one.said_goodbye:
            # Anybody can forge a goodbye. If the machine itself still answers for its name, it is there.
            one.said_goodbye, one.unsure, one.sighting, one.due = False, True, None, now + 1
            zc.cache.async_remove_records(zc.cache.async_entries_with_name(one.name))
        if one.asking or not (one.noted or one.due <= now):
            return
        try:
            info = AsyncServiceInfo(one.type, one.name)
        except zeroconf.Error:  # a name that nothing can be asked of
            del self._names[key]
            return
        if info.load_from_cache(zc):
            self._take(one, info, now)
        elif len(self._tasks) < MAX_QUESTIONS:
            one.asking, one.noted = True, False
            self._tasks.spawn(f"discovery-asks-{self._interface.name}", self._ask(zc, key, one, info))

    def _take(self, one: _Name, info: AsyncServiceInfo, now: float) -> None:
        one.sighting = read_sighting(
            info.name, info.parsed_addresses(), info.port, info.properties, self._interface, self._own()
        )
        one.due = now + (SETTLE_SECONDS if one.noted or one.asking else self._refresh)
        one.noted, one.failures = False, 0

    async def _ask(self, zc: Zeroconf, key: str, one: _Name, info: AsyncServiceInfo) -> None:
        now = asyncio.get_running_loop().time
        try:
            if await info.async_request(zc, ANSWER_SECONDS * 1000, DNSQuestionType.QM):
                if not one.said_goodbye:
                    self._take(one, info, now())
            elif one.unsure:
                if self._names.get(key) is one:
                    del self._names[key]
            else:
                one.sighting = None
                one.due = now() + min(self._refresh * 2**one.failures, MAX_REFRESH_SECONDS)
                one.failures += 1
        except zeroconf.Error:  # it was closed meanwhile
            one.due = now() + self._refresh
        finally:
            one.asking = False
            self._noted.set()

    def _forget_the_rest(self, zc: Zeroconf) -> None:
        """Out of the cache with names that are not followed: the next browser would ask with all of them as known."""
        for type_ in (NODE_TYPE, OLLAMA_TYPE):
            pointers = [record for record in zc.cache.async_entries_with_name(type_) if isinstance(record, DNSPointer)]
            zc.cache.async_remove_records([one for one in pointers if one.alias.lower() not in self._names])
