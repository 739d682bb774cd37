"""The limits in time that both lanes keep, and what a caller is told when one of them is reached.

Knows no wire: each lane brings its own words, since one speaks of machines and the other of providers.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from appliance.errors import UpstreamTimeout
from appliance.lanes.attempt import AttemptFailed

END_SECONDS = 1.0
"""The end of a body follows its last piece at once; a server that holds it back loses the connection."""

COUNTS_SECONDS = 5.0
"""After the model's own end only its counts are missing. They come at once or never."""

ERROR_SECONDS = 5.0
"""An error's text follows its status at once; what it is for is known by the status alone."""

MAX_ANSWER_BYTES = 256 * 1024 * 1024
"""Of one answer on the wire, where each token takes some 120 to 400 bytes; more is a server that never ends."""

MAX_ERROR_BYTES = 64 * 1024
"""An error's text is a sentence; more than this of it is not read."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds, each its own limit (gateway.md, "Limits")."""

    connect: float
    first_byte: float
    idle: float
    total: float


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that is running: its name in the settings, its length in seconds, and when it ends (loop time)."""

    name: str
    seconds: float
    at: float

    def passed(self, words: Mapping[str, tuple[str, str]]) -> AttemptFailed:
        """What a caller is told when this limit fires: by its name a beginning, to which the time is added, and an
        advice."""
        message, advice = words[self.name]
        error = UpstreamTimeout(f"{message} {self.seconds:g} s (limit `{self.name}`).", advice=advice)
        return AttemptFailed(error, elsewhere=self.name != "total")


def running(name: str, seconds: float, elapsed: float = 0.0) -> Limit:
    """A limit that begins now, `elapsed` seconds of which are used up."""
    return Limit(name, seconds, asyncio.get_running_loop().time() + seconds - elapsed)


def sooner(first: Limit, second: Limit) -> Limit:
    return first if first.at <= second.at else second


async def read_end(response: aiohttp.ClientResponse) -> None:
    """Read the end of an answer that is done, so that its connection can be used again; nothing more is wanted."""
    with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
        async with asyncio.timeout(END_SECONDS):
            size = 0
            while size <= MAX_ERROR_BYTES and (chunk := await response.content.readany()):
                size += len(chunk)
