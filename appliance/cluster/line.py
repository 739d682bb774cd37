"""Who waits for a machine: fair among callers, first come first served within one, and bounded. Pure.

A caller with a hundred calls does not keep the next one waiting for all of them.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Line(Generic[T]):
    """`size` bounds those that join at its end; who joins in front was let in before."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._front: deque[T] = deque()
        self._by_caller: OrderedDict[Hashable, deque[T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._front) + sum(len(waiting) for waiting in self._by_caller.values())

    def __iter__(self) -> Iterator[T]:
        yield from self._front
        for waiting in self._by_caller.values():
            yield from waiting

    @property
    def full(self) -> bool:
        return len(self) >= self._size

    def join(self, caller: Hashable, one: T, *, in_front: bool = False) -> None:
        """Whether there is room is for the caller to ask."""
        if in_front:
            self._front.append(one)
        else:
            self._by_caller.setdefault(caller, deque()).append(one)

    def leave(self, caller: Hashable, one: T) -> bool:
        """Whether it was still waiting."""
        if one in self._front:
            self._front.remove(one)
            return True
        waiting = self._by_caller.get(caller, ())
        if one not in waiting:
            return False
        self._take(caller, one)
        return True

    def next(self, can_go: Callable[[T], bool]) -> T | None:
        """Take out the first that can go: the callers in turn, each with its oldest; None where nobody can."""
        for one in self._front:
            if can_go(one):
                self._front.remove(one)
                return one
        for caller, waiting in self._by_caller.items():
            for one in waiting:
                if can_go(one):
                    self._take(caller, one)
                    if caller in self._by_caller:
                        self._by_caller.move_to_end(caller)
                    return one
        return None

    def _take(self, caller: Hashable, one: T) -> None:
        waiting = self._by_caller[caller]
        waiting.remove(one)
        if not waiting:
            del self._by_caller[caller]
