"""The shield in force at this moment: its mode, what it scans with, and the key of its tokens.

Which texts are scanned, and what becomes of the findings, is decided by others.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from appliance.shield.cache import FindingsCache
from appliance.shield.categories import Mode
from appliance.shield.detect import Detector
from appliance.shield.finding import Finding
from appliance.shield.mask import Masked, mask
from appliance.shield.names import Names
from appliance.shield.scanner import Scanner

CACHE_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Shielding:
    """The shield as it was at one moment. A call keeps its own, so that a change holds from the next call on."""

    mode: Mode
    country: str
    _scanner: Scanner
    _opaque_scanner: Scanner
    _key: bytes = field(repr=False)

    async def scan(self, texts: Sequence[str], labels: Sequence[str] = ()) -> list[tuple[Finding, ...]]:
        """What is personal in each of the texts of one call; `labels` as for `Scanner.scan`."""
        return await self._scanner.scan(texts, labels)

    async def scan_opaque(self, texts: Sequence[str]) -> list[tuple[Finding, ...]]:
        """What is personal in each text of those that look random, ids and what was encrypted.

        The rules of the mode `standard` find next to nothing in random letters and digits; the others may take some for
        a name, a record or a vehicle, and who made the text would not know it again.
        """
        return await self._opaque_scanner.scan(texts)

    def mask(self, texts: Sequence[str], findings: Sequence[Sequence[Finding]]) -> Masked:
        """The same texts as they may leave, and the vault that restores the answer."""
        return mask(texts, findings, key=self._key, country=self.country)


class LiveShield:
    """`key` makes the tokens and is the installation's own. `country` (ISO 3166) is whose phone numbers are written
    without a prefix; `names` and `ignored` are the administrator's lists. Starts with the mode `off`."""

    def __init__(
        self,
        key: bytes,
        *,
        country: str,
        names: Sequence[str] = (),
        ignored: Sequence[str] = (),
        random: Callable[[int], bytes],
    ) -> None:
        self._key = key
        self._country = country
        self._lists = (tuple(names), tuple(ignored))
        self._random = random
        self._now = self._made("off")

    @property
    def now(self) -> Shielding:
        return self._now

    async def use(self, mode: Mode) -> None:
        """Change the mode: for the next call, with an empty cache."""
        if mode != self._now.mode:
            # The lexicon of names takes a moment to load, in which other calls go on.
            self._now = await asyncio.to_thread(self._made, mode)

    def _made(self, mode: Mode) -> Shielding:
        names, ignored = self._lists
        scanner = self._scanner(Detector(mode, country=self._country, names=lambda: Names(names, ignored)))
        opaque = self._scanner(Detector("standard", country=self._country)) if mode == "medical" else scanner
        return Shielding(mode, self._country, scanner, opaque, self._key)

    def _scanner(self, detector: Detector) -> Scanner:
        return Scanner(detector, FindingsCache(self._random(CACHE_KEY_BYTES)))
