"""How people type values, in options of commands and in fields of the console.

Each function raises `ValueError` with what may stand there.
"""

import re
from datetime import UTC, datetime, timedelta

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def milli_questions(text: str) -> int:
    """`12.5` questions are 12500 thousandths; a model's class costs 0.25 questions and up (routing.md)."""
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,3})?", text):
        raise ValueError("a number of questions, with up to three decimals, such as 500 or 12.5")
    whole, _, decimals = text.partition(".")
    return int(whole) * 1000 + int(decimals.ljust(3, "0"))


def count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise ValueError("a whole number above zero")
    return int(text)


def index(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise ValueError("a whole number")
    return int(text)


def port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65_535:
        raise ValueError("a port, from 0 to 65535")
    return int(text)


def expiry(text: str, now: datetime) -> datetime:
    """When a key stops working: a date is still good on that day, in UTC; a duration counts from now."""
    if found := re.fullmatch(r"([0-9]{1,6})([hdw])", text):
        try:
            return now + int(found[1]) * _UNITS[found[2]]
        except OverflowError as error:
            raise ValueError("a time before the year 10000") from error
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
        return day + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise ValueError("a date such as 2027-01-31, or a duration such as 90d, 12h or 2w") from error


def since(text: str, now: datetime) -> datetime:
    """From when on: a date begins at midnight UTC, a duration counts back from now."""
    if found := re.fullmatch(r"([0-9]{1,6})([hdw])", text):
        try:
            return now - int(found[1]) * _UNITS[found[2]]
        except OverflowError as error:
            raise ValueError("a time after the year 1") from error
    return _day(text, "a date such as 2026-11-01, or how long ago, such as 30d, 12h or 2w")


def until(text: str) -> datetime:
    """Until when: the end of a day, in UTC."""
    return _day(text, "a date such as 2026-11-30") + timedelta(days=1)


def _day(text: str, allowed: str) -> datetime:
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as error:
        raise ValueError(allowed) from error
    if not 1970 <= day.year < 9999:
        raise ValueError(allowed)
    return day
