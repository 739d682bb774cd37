"""The thoughts that providers have signed in answers of this process: each goes back unread to its own provider alone.

A signature cannot be checked here, and who makes one up could send anything out behind it. What is remembered is a
keyed hash of each, so that no thought is kept. Source: shield.md ("What is scanned"); architecture.md, rule 3.
"""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import orjson

from appliance.dialects.chat import BlockEnd, Event, OwnDelta, ReasoningDelta

MOST = 100_000
"""Thoughts; the oldest are forgotten first. Some 15 MB."""


class SignedThoughts:
    """`key` is random and of this process. `provider` is the address of one, whatever it is named."""

    def __init__(self, key: bytes, *, most: int = MOST) -> None:
        self._key = key
        self._most = most
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def remember(self, provider: str, thought: str, signature: str) -> None:
        self._known[self._hash(provider, thought, signature)] = None
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def knows(self, provider: str, thought: str, signature: str) -> bool:
        """Whether this provider has signed exactly this."""
        return self._hash(provider, thought, signature) in self._known

    def _hash(self, *parts: str) -> bytes:
        written = "".join(f"{len(part)}:{part}" for part in parts).encode(errors="surrogatepass")
        return hashlib.blake2b(written, key=self._key, digest_size=16).digest()

    async def noted(self, provider: str, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The same events; what is signed in them is known from now on. Closing it closes `events`."""
        pieces: list[str] = []
        async with aclosing(events):
            async for event in events:
                match event:
                    case ReasoningDelta():
                        pieces.append(event.text)
                    case OwnDelta(sealed=True):
                        signature = cast("dict[str, object]", orjson.loads(event.json)).get("signature")
                        self.remember(provider, "".join(pieces), str(signature))
                    case BlockEnd():
                        pieces.clear()
                    case _:
                        pass
                yield event
