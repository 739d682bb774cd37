"""Whose turn it is in llama.cpp: one call for each of its slots, in the one that knows most of the call's prompt.

A slot keeps the conversation that it had last, so that the next call of that conversation is quick. It must not know
what is asked of llama.cpp.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence

WORTH_KEEPING = 10
"""A slot is chosen for what it knows of a prompt if that is one token in so many, as llama.cpp itself does it: every
prompt begins alike, and the conversation that a slot keeps is lost to another one."""


class Slot:
    """One of llama.cpp's slots, as far as it is known what it keeps."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._tokens: Sequence[int] = ()
        self._answered = 0

    def keeps(self, tokens: Sequence[int], answered: int = 0) -> None:
        """It has read these tokens, and has written an answer of so many tokens behind them."""
        self._tokens = tokens
        self._answered = answered

    def known(self, tokens: Sequence[int]) -> int:
        """How many of these tokens it need not read again. An answer is taken for the start of what follows it."""
        size = _common(self._tokens, tokens)
        return min(size + self._answered, len(tokens)) if size == len(self._tokens) else size


class Turns:
    def __init__(self, slots: int) -> None:
        self._free = [Slot(number) for number in reversed(range(slots))]
        """The one that was used last is the last; llama.cpp begins with its last slot too."""
        self._turns = asyncio.Semaphore(slots)

    @contextlib.asynccontextmanager
    async def take(self, tokens: Sequence[int]) -> AsyncGenerator[Slot]:
        """Waits for a free slot, and holds the one that knows most of `tokens`, or has been idle for the longest."""
        async with self._turns:
            slot = max(self._free, key=lambda each: _worth(each.known(tokens), tokens))
            self._free.remove(slot)
            try:
                yield slot
            finally:
                self._free.append(slot)

    def forget(self) -> None:
        """All slots are empty: llama.cpp was started anew."""
        for slot in self._free:
            slot.keeps(())


def _worth(known: int, tokens: Sequence[int]) -> int:
    return known if known * WORTH_KEEPING >= len(tokens) else 0


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))
