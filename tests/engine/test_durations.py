"""`keep_alive`. Source: Go's duration notation (time.ParseDuration) and Ollama's documentation."""

import pytest

from appliance.engine.durations import FOREVER, parse_keep_alive
from appliance.engine.refusal import Refused


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        (0, 0),
        (0.5, 0.5),
        (30, 30),
        ("0", 0),
        ("0s", 0),
        ("5m", 300),
        ("30s", 30),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("1h15m30.918s", 4530.918),
        (".5s", 0.5),
        ("5.s", 5),
        ("+5s", 5),
        ("10us", 1e-5),
        ("10µs", 1e-5),
        ("10ns", 1e-8),
        (-1, FOREVER),
        (-0.1, FOREVER),
        ("-1s", FOREVER),
        ("-1m", FOREVER),
        (1e30, FOREVER),
        ("9999999h", FOREVER),
    ],
)
def test_durations(value: object, seconds: float | None):
    assert parse_keep_alive(value) == (seconds if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("", 'time: invalid duration ""'),
        ("abc", 'time: invalid duration "abc"'),
        ("-", 'time: invalid duration "-"'),
        ("5 m", 'time: unknown unit " m" in duration "5 m"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1h5", 'time: missing unit in duration "1h5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        (".", 'time: invalid duration "."'),
        (True, "keep_alive must be"),
        ([], "keep_alive must be"),
        ({}, "keep_alive must be"),
    ],
)
def test_what_is_no_duration(value: object, sentence: str):
    with pytest.raises(Refused) as caught:
        parse_keep_alive(value)
    assert caught.value.status == 400
    assert caught.value.message.startswith(sentence)


def test_forever_is_the_longest_duration_of_go():
    assert round(FOREVER * 1e9) == 2**63
