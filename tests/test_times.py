from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.times import from_ms, parse_rfc3339, rfc3339, to_ms

# The instant of proofs.md's example certificate.
EXAMPLE = datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC)


def test_the_example_of_the_certificate():
    assert rfc3339(EXAMPLE) == "2026-11-29T18:57:03.120Z"
    assert parse_rfc3339("2026-11-29T18:57:03.120Z") == EXAMPLE


def test_milliseconds_are_written_even_when_zero():
    assert rfc3339(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000Z"


def test_another_offset_is_the_same_instant():
    assert rfc3339(EXAMPLE.astimezone(timezone(timedelta(hours=2)))) == "2026-11-29T18:57:03.120Z"
    assert parse_rfc3339("2026-11-29T20:57:03.120+02:00") == EXAMPLE


def test_milliseconds_since_the_epoch():
    assert to_ms(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert to_ms(datetime(2001, 9, 9, 1, 46, 40, 999_999, tzinfo=UTC)) == 1_000_000_000_999


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_every_millisecond_survives_both_ways(ms: int):
    assert to_ms(from_ms(ms)) == ms
    assert to_ms(parse_rfc3339(rfc3339(from_ms(ms)))) == ms


@pytest.mark.parametrize("text", ["", "today", "2026-11-29T18:57:03", "2026-11-29", "2026-13-01T00:00:00Z"])
def test_what_names_no_instant_is_refused(text: str):
    with pytest.raises(ValueError, match=r"."):
        parse_rfc3339(text)
