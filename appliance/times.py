"""One instant in its three forms: aware UTC `datetime` in code, integer milliseconds in SQL, RFC 3339 in JSON."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_ms(at: datetime) -> int:
    """Milliseconds since 1970-01-01T00:00:00Z; what is finer is cut off."""
    return (at - _EPOCH) // _MILLISECOND


def from_ms(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def rfc3339(at: datetime) -> str:
    """`2026-11-29T18:57:03.120Z`: RFC 3339 in UTC, always with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime:
    """The instant that `text` names.

    Raises:
        ValueError: not RFC 3339, or without an offset, so that no instant is named.
    """
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time needs its offset from UTC")
    return at.astimezone(UTC)
