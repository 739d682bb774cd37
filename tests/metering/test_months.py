from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from appliance.metering.months import Month, month_of

PARIS = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("at", "month"),
    [
        (datetime(2026, 11, 30, 23, 59, 59, 999_999, UTC), Month(2026, 11)),
        (datetime(2026, 12, 1, tzinfo=UTC), Month(2026, 12)),
        # At midnight in UTC, whatever the clock on the wall says.
        (datetime(2026, 12, 1, 0, 30, tzinfo=PARIS), Month(2026, 11)),
        (datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), Month(2026, 12)),
        (datetime(2027, 1, 1, tzinfo=UTC), Month(2027, 1)),
        (datetime(2027, 2, 28, 23, 59, 59, tzinfo=UTC), Month(2027, 2)),
        (datetime(2027, 3, 1, tzinfo=UTC), Month(2027, 3)),
        (datetime(2028, 2, 29, 12, tzinfo=UTC), Month(2028, 2)),
    ],
)
def test_the_month_of_a_moment(at: datetime, month: Month):
    assert month_of(at) == month


@pytest.mark.parametrize(
    ("month", "days"), [((2026, 2), 28), ((2028, 2), 29), ((2026, 4), 30), ((2026, 12), 31), ((2100, 2), 28)]
)
def test_how_many_days_it_has(month: tuple[int, int], days: int):
    one = Month(*month)
    assert one.following.first - one.first == timedelta(days)


def test_its_days_are_counted_from_the_epoch():
    assert Month(1970, 1).days == (0, 30)
    assert Month(2026, 12).days == (20_788, 20_818)
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(20_788) == datetime(2026, 12, 1, tzinfo=UTC)


def test_in_order():
    assert Month(2026, 12).following == Month(2027, 1)
    assert Month(2026, 12) < Month(2027, 1)
    assert Month(2027, 1).first == date(2027, 1, 1)
