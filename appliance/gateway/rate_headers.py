"""How a key's limit of requests stands, in the headers that the clients of each dialect look for.

Source: the OpenAI API reference, "Rate limits" (`x-ratelimit-…-requests`); Anthropic's, "Rate limits"
(`anthropic-ratelimit-requests-…`).
"""

from collections.abc import Iterator

from appliance.metering.rate_limits import Standing
from appliance.times import rfc3339

Header = tuple[bytes, bytes]


def rate_headers(standing: Standing, *, anthropic: bool) -> Iterator[Header]:
    """The limit, what is left, and when all of it is there again."""
    if anthropic:
        names, reset = "anthropic-ratelimit-requests-{}", rfc3339(standing.reset_at)
    else:
        names, reset = "x-ratelimit-{}-requests", _duration(standing.reset)
    for what, value in (("limit", standing.limit), ("remaining", standing.remaining), ("reset", reset)):
        yield names.format(what).encode(), str(value).encode()


def _duration(seconds: float) -> str:
    """`59.25s`, `1m0s`: never less than what is left."""
    milli = max(0, -int(-seconds * 1000 // 1))
    minutes, rest = divmod(milli, 60_000)
    said = f"{rest / 1000:g}s"
    return f"{minutes}m{said}" if minutes else said
