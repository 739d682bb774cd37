from datetime import UTC, datetime

import pytest

from appliance.gateway.rate_headers import rate_headers
from appliance.metering.rate_limits import Standing

AT = datetime(2026, 11, 30, 12, 1, 0, 500_000, UTC)


def test_as_clients_of_openai_read_them():
    assert dict(rate_headers(Standing(30, 29, 59.25, AT), anthropic=False)) == {
        b"x-ratelimit-limit-requests": b"30",
        b"x-ratelimit-remaining-requests": b"29",
        b"x-ratelimit-reset-requests": b"59.25s",
    }


@pytest.mark.parametrize(("seconds", "said"), [(60.0, b"1m0s"), (0.0, b"0s"), (0.0001, b"0.001s"), (61.5, b"1m1.5s")])
def test_how_long_until_it_is_reset(seconds: float, said: bytes):
    headers = dict(rate_headers(Standing(1, 0, seconds, AT), anthropic=False))
    assert headers[b"x-ratelimit-reset-requests"] == said


def test_as_clients_of_anthropic_read_them():
    assert dict(rate_headers(Standing(30, 29, 59.25, AT), anthropic=True)) == {
        b"anthropic-ratelimit-requests-limit": b"30",
        b"anthropic-ratelimit-requests-remaining": b"29",
        b"anthropic-ratelimit-requests-reset": b"2026-11-30T12:01:00.500Z",
    }
