"""How much memory the bodies of calls may take together: a large one waits until there is room for it.

A call holds on to its body until it is over, and what is read out of the body takes as much again and more. Must not
know what a body is.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from appliance.errors import Overloaded

SMALL_BYTES = 1024 * 1024
"""A body of this size needs no room, and so waits for none. Those of ordinary chats and agents are smaller."""

ROOM_BYTES = 256 * 1024 * 1024
"""What larger ones may have together. The process grows by two to three times as much."""

WAIT_SECONDS = 30.0
"""How long a body waits for its room, as a call does for a machine."""


class Room:
    """Shared by all calls. `size` in bytes has to be enough for the largest body there may be. `waiting` is how many
    bodies wait for room."""

    def __init__(self, size: int = ROOM_BYTES) -> None:
        self.waiting = 0
        self._free = size
        self._turn = asyncio.Lock()  # who waits longest is next, however small the others are
        self._returned = asyncio.Event()

    @contextmanager
    def place(self) -> Generator["Place"]:
        """What one call takes of it, given back at the end of the block. Nothing at first."""
        place = Place(self)
        try:
            yield place
        finally:
            place.keep(0)

    async def take(self, size: int) -> None:
        """Raises `Overloaded` where there is no room for `size` bytes in time."""
        self.waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS), self._turn:
                while self._free < size:
                    self._returned.clear()
                    await self._returned.wait()
                self._free -= size
        except TimeoutError:
            raise Overloaded(
                "The gateway is busy with other large requests.", advice="Send this one again in a moment."
            ) from None
        finally:
            self.waiting -= 1

    def give_back(self, size: int) -> None:
        self._free += size
        self._returned.set()


class Place:
    """The room of one call, in bytes. It is taken at once: whoever waited for more with some of it in hand could make
    others wait for ever.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self.size = 0

    async def take(self, size: int) -> None:
        """Wait for room for a body of up to `size` bytes; to be called once. Raises `Overloaded`."""
        await self._room.take(size)
        self.size = size

    def keep(self, size: int) -> None:
        """Give back what the body has turned out not to need."""
        if size < self.size:
            self._room.give_back(self.size - size)
            self.size = size
