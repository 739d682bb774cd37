"""Times in logarithmic buckets, and percentiles out of them. Pure: knows no tables.

A percentile is off by at most a factor of 2^(1/8), which is 9.1 %, and by the rounding to whole milliseconds.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

BUCKETS_A_DOUBLING = 4

LONGEST_MS = 2 * 86_400_000
"""Longer times count as this one; a call lasts at most a day (`timeouts.total`)."""

_STARTS = tuple(2 ** (k / BUCKETS_A_DOUBLING) for k in range(int(math.log2(LONGEST_MS) * BUCKETS_A_DOUBLING) + 1))
"""Where bucket 1 and those after it begin, in milliseconds. None but the powers of two is a whole number."""


class Percentiles(NamedTuple):
    """Milliseconds that half of the calls took at most, that 90 % took at most, and so on."""

    p50: int
    p90: int
    p95: int
    p99: int


def bucket_of(ms: int) -> int:
    """0 for no time at all; bucket k holds the times from 2^((k-1)/4) ms up to where the next one begins."""
    return bisect_right(_STARTS, ms)


def percentiles(counts: Mapping[int, int]) -> Percentiles | None:
    """Out of how many times lie in each bucket; None where there are none."""
    total = sum(counts.values())
    if not total:
        return None
    ordered = sorted(counts.items())
    return Percentiles(*(_at(ordered, math.ceil(total * share / 100)) for share in (50, 90, 95, 99)))


def _at(ordered: list[tuple[int, int]], rank: int) -> int:
    """The time that is `rank`-th from below (from 1)."""
    passed = 0
    for bucket, count in ordered:
        passed += count
        if passed >= rank:
            return _middle(bucket)
    raise AssertionError("the rank lies within the counts")


def _middle(bucket: int) -> int:
    """As far, as a factor, from the shortest time of the bucket as from the longest."""
    return round(2 ** ((bucket - 0.5) / BUCKETS_A_DOUBLING)) if bucket else 0
