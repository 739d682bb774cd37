import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.store.latency import LONGEST_MS, Percentiles, bucket_of, percentiles

LARGEST_FACTOR = 2 ** (1 / 8)


def counted(times: list[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for ms in times:
        counts[bucket_of(ms)] = counts.get(bucket_of(ms), 0) + 1
    return counts


def test_a_power_of_two_begins_every_fourth_bucket():
    assert [bucket_of(ms) for ms in (0, 1, 2, 3, 4, 7, 8, 16, 1024)] == [0, 1, 5, 7, 9, 12, 13, 17, 41]


@given(st.integers(0, LONGEST_MS))
def test_a_single_time_comes_back_within_the_stated_error(ms: int):
    found = percentiles({bucket_of(ms): 1})
    assert found is not None
    assert ms / LARGEST_FACTOR - 0.5 <= found.p50 <= ms * LARGEST_FACTOR + 0.5
    assert len(set(found)) == 1


@given(st.integers(0, LONGEST_MS - 1))
def test_a_longer_time_is_never_in_a_lower_bucket(ms: int):
    assert bucket_of(ms) <= bucket_of(ms + 1)


def test_what_is_longer_than_the_longest_counts_as_that():
    assert bucket_of(10 * LONGEST_MS) == bucket_of(LONGEST_MS)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 99, 100, 1000])
def test_percentiles_are_those_of_the_times_within_the_stated_error(size: int):
    draw = random.Random(size)
    times = sorted(round(draw.lognormvariate(6, 1.5)) for _ in range(size))
    # Nearest rank: the smallest time that at least this share of all do not exceed.
    exact = [times[-(-size * share // 100) - 1] for share in (50, 90, 95, 99)]
    found = percentiles(counted(times))
    assert found is not None
    for expected, value in zip(exact, found, strict=True):
        assert expected / LARGEST_FACTOR - 0.5 <= value <= expected * LARGEST_FACTOR + 0.5


def test_of_nothing_there_are_no_percentiles():
    assert percentiles({}) is None
    assert percentiles({3: 0}) is None
    assert percentiles({0: 5}) == Percentiles(0, 0, 0, 0)
