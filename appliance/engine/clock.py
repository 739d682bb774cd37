"""The two clocks that the engine reads, as one value, so that a test can hand in its own."""

import time
from collections.abc import Callable
from dataclasses import dataclass

NANO = 1_000_000_000
"""Nanoseconds in a second."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`wall_ns` is nanoseconds since the epoch; `steady_ns` counts nanoseconds and never jumps."""

    wall_ns: Callable[[], int] = time.time_ns
    steady_ns: Callable[[], int] = time.monotonic_ns
