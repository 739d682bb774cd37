"""Certificates that the gateway issues to itself: one at the start, and a new one before it ends or when names change.

They are kept nowhere: what tools trust is the CA, and a new key costs a millisecond.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from datetime import datetime

from appliance.ids import Clock
from appliance.tls.authority import Authority, due
from appliance.tls.contexts import Handshakes, server_context
from appliance.tls.names import Names

_log = logging.getLogger(__name__)

LOOK_SECONDS = 15.0
"""How often the machine is asked for its names and addresses, and the clock for the time."""


class Automatic:
    """`handshakes` always has a certificate for what `read` says. `read` may block for a moment; it is called aside."""

    def __init__(self, authority: Authority, read: Callable[[], Names], clock: Clock) -> None:
        self._authority = authority
        self._read = read
        self._clock = clock
        self._left_out: tuple[str, ...] = ()
        self._names = read()
        self._issued: datetime = clock()
        self.handshakes = Handshakes(self._context(self._names))

    async def watch(self, seconds: float = LOOK_SECONDS) -> None:
        """Keep the certificate fresh until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            await self.look()

    async def look(self, *, always: bool = False) -> None:
        """Issue a new certificate where one is due, or `always`."""
        names = await asyncio.to_thread(self._read)
        now = self._clock()
        if not always and names == self._names and not due(now, issued=self._issued):
            return
        why = "it was asked for" if always else "the machine's names changed" if names != self._names else "it was due"
        self._names, self._issued = names, now
        self.handshakes.use(self._context(names))
        _log.info("the gateway has a new certificate: %s", why)

    def _context(self, names: Names) -> ssl.SSLContext:
        covered, rest = self._authority.covered(names)
        if rest and rest != self._left_out:
            _log.warning(
                "the gateway's certificate leaves out %s, which its CA may not vouch for: synapse tls new-ca makes"
                " another CA, which tools have to be told to trust",
                ", ".join(rest),
            )
        self._left_out = rest
        return server_context(self._authority.issue(covered, self._issued))
