from datetime import UTC, datetime

import pytest

from appliance.lanes.retries import LONGEST_PAUSE, PAUSES, pause, retry_after

NOW = datetime(1994, 11, 15, 8, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        # The date is the example of RFC 9110, section 5.6.7, in its three forms.
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("Tue, 15 Nov 1994 08:12:31 GMT", 31.0),
        ("Tue, 15 Nov 1994 09:12:31 +0100", 31.0),
        ("120", 120.0),
        (" 0 ", 0.0),
        ("1.5", 1.5),
        ("9" * 400, 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("Fri, 31 Dec 99999999999999999999 23:59:59 GMT", None),
        ("Tue, 15 Nov 1994 08:12:31", None),
        ("-1", None),
        ("soon", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None):
    assert retry_after(value, NOW) == seconds


def test_pauses():
    assert [pause(retries, None) for retries in range(3)] == [*PAUSES, None]
    assert pause(0, 3.0) == 3.0
    assert pause(0, LONGEST_PAUSE) == LONGEST_PAUSE
    assert pause(0, LONGEST_PAUSE + 1) is None
    assert pause(2, 0.0) is None
