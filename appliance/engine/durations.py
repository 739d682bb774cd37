"""`keep_alive`: how long a model stays in memory after a request. Pure.

Source: Ollama's documentation of `keep_alive`, and Go's duration notation, in which it is written ("5m", "1h30m").
"""

import re

from appliance.engine.refusal import Refused

FOREVER = (2**63 - 1) / 1e9
"""Seconds: the longest duration that Go can hold, about 292 years. Ollama means it by any negative number."""

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")
_WHOLE = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)[^\d.]*)+")


def parse_keep_alive(value: object) -> float | None:
    """Seconds, or `None` where the request does not say. Raises Refused (400) for anything else."""
    if value is None:
        return None
    if isinstance(value, str):
        seconds = _parse_duration(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        raise Refused(400, 'keep_alive must be a duration such as "5m" or a number of seconds')
    return FOREVER if seconds < 0 else min(seconds, FOREVER)


def _parse_duration(text: str) -> float:
    if text in ("0", "+0", "-0"):
        return 0.0
    if not _WHOLE.fullmatch(text):
        raise Refused(400, f'time: invalid duration "{text}"')
    seconds = 0.0
    for number, unit in _PART.findall(text):
        if not unit:
            raise Refused(400, f'time: missing unit in duration "{text}"')
        if unit not in _SECONDS:
            raise Refused(400, f'time: unknown unit "{unit}" in duration "{text}"')
        seconds += float(number) * _SECONDS[unit]
    return -seconds if text.startswith("-") else seconds
