from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.admin import looks, values

NOW = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given_text", "milli"), [("500", 500_000), ("12.5", 12_500), ("0.25", 250), ("0", 0), ("0.001", 1), ("007", 7000)]
)
def test_questions_are_kept_as_thousandths(given_text: str, milli: int):
    # routing.md, "Metering": stored as integer milli-questions; a local answer is 0.25.
    assert values.milli_questions(given_text) == milli


@pytest.mark.parametrize("given_text", ["", "-1", "1e3", "0.0001", "1,5", ".5", "5.", "x", "١", "1" * 13, " 1", "1\n"])
def test_what_is_no_number_of_questions(given_text: str):
    with pytest.raises(ValueError, match="three decimals"):
        values.milli_questions(given_text)


@given(st.integers(0, 10**15 - 1))
def test_questions_survive_both_ways(milli: int):
    assert values.milli_questions(looks.questions(milli)) == milli


def test_counts_and_indexes():
    assert values.count("1") == 1
    assert values.index("0") == 0
    for given_text in ("", "0", "-1", "1.5", "x", "1" * 10):
        with pytest.raises(ValueError, match="whole number above zero"):
            values.count(given_text)
    for given_text in ("", "-1", "x", "1" * 16):
        with pytest.raises(ValueError, match="whole number"):
            values.index(given_text)


def test_ports():
    assert (values.port("0"), values.port("11435"), values.port("65535")) == (0, 11435, 65535)
    for given_text in ("", "-1", "65536", "99999", "1" * 20, "x", "1.5"):
        with pytest.raises(ValueError, match="from 0 to 65535"):
            values.port(given_text)


@pytest.mark.parametrize(
    ("given_text", "end"),
    [
        ("90d", datetime(2027, 2, 27, 12, 30, tzinfo=UTC)),
        ("12h", datetime(2026, 11, 30, 0, 30, tzinfo=UTC)),
        ("2w", datetime(2026, 12, 13, 12, 30, tzinfo=UTC)),
        ("2027-01-31", datetime(2027, 2, 1, tzinfo=UTC)),
        ("2028-02-29", datetime(2028, 3, 1, tzinfo=UTC)),
    ],
)
def test_an_expiry_is_a_last_day_or_a_time_from_now(given_text: str, end: datetime):
    assert values.expiry(given_text, NOW) == end


@pytest.mark.parametrize(
    "given_text",
    [
        "",
        "90",
        "d",
        "90 d",
        "90m",
        "1.5d",
        "-1d",
        "2027-02-29",
        "2027-13-01",
        "31/01/2027",
        "tomorrow",
        "9999-12-31",
        "2027-01-31T00:00",
    ],
)
def test_what_is_no_expiry(given_text: str):
    with pytest.raises(ValueError, match="a date such as 2027-01-31, or a duration such as 90d"):
        values.expiry(given_text, NOW)


def test_an_expiry_that_no_calendar_has():
    with pytest.raises(ValueError, match="before the year 10000"):
        values.expiry("999999w", NOW)


@pytest.mark.parametrize(
    ("given_text", "at"),
    [
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("30d", NOW - timedelta(days=30)),
        ("12h", NOW - timedelta(hours=12)),
    ],
)
def test_since_is_a_day_or_how_long_ago(given_text: str, at: datetime):
    assert values.since(given_text, NOW) == at


def test_until_is_the_end_of_a_day():
    assert values.until("2026-12-31") == datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("given_text", ["", "2026-02-29", "0001-01-01", "9999-12-31", "999999w", "now", "30"])
def test_what_is_no_beginning_and_no_end(given_text: str):
    with pytest.raises(ValueError, match=r"a date such as|a time after"):
        values.since(given_text, NOW)
    with pytest.raises(ValueError, match="a date such as"):
        values.until(given_text)
