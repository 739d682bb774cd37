"""Calendar months in UTC, which is how budgets are counted (routing.md, "Metering")."""

from datetime import UTC, date, datetime
from typing import NamedTuple

_EPOCH = date(1970, 1, 1)


class Month(NamedTuple):
    year: int
    month: int

    @property
    def following(self) -> "Month":
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    @property
    def first(self) -> date:
        return date(self.year, self.month, 1)

    @property
    def days(self) -> tuple[int, int]:
        """Its first and its last day, as whole days since the epoch."""
        return (self.first - _EPOCH).days, (self.following.first - _EPOCH).days - 1


def month_of(at: datetime) -> Month:
    """The month that an aware moment is in, in UTC."""
    utc = at.astimezone(UTC)
    return Month(utc.year, utc.month)
