from datetime import UTC, datetime, timedelta

import pytest

from appliance.admin import looks

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("Zoé ✓", "Zoé ✓"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\nb", "a\\nb"),
        ("\u202e", "\\u202e"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_its_code(given_text: str, shown: str):
    assert looks.printable(given_text) == shown


def test_a_moment_is_to_the_minute_in_utc():
    assert looks.moment("2026-11-29T18:57:03.120Z") == "2026-11-29 18:57Z"
    assert looks.moment(None) == "–"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h 0 min"),
        (11_520, "3 h 12 min"),
        (86_400, "1 d 0 h"),
        (400 * 86_400 + 7200, "400 d 2 h"),
    ],
)
def test_a_duration(seconds: float, shown: str):
    assert looks.duration(NOW, NOW + timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("milli", "shown"),
    [(0, "0"), (1, "0.001"), (250, "0.25"), (12_500, "12.5"), (500_000, "500"), (10**15, "1" + "0" * 12)],
)
def test_questions(milli: int, shown: str):
    assert looks.questions(milli) == shown


@pytest.mark.parametrize(
    ("micro", "shown"),
    [
        (0, "$0.00"),
        (1, "$0.000001"),
        (4_500, "$0.0045"),
        (500_000, "$0.50"),
        (12_345_678, "$12.35"),
        (-4_500, "-$0.0045"),
        (10**12, "$1000000.00"),
    ],
)
def test_dollars(micro: int, shown: str):
    assert looks.dollars(micro) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (12_999, "12 kB"),
        (512_000_000, "512 MB"),
        (999_999_999, "999 MB"),
        (4_683_075_271, "4.7 GB"),
        (1_250_000_000_000, "1.2 TB"),
    ],
)
def test_size(count: int, shown: str):
    assert looks.size(count) == shown


@pytest.mark.parametrize(("ms", "shown"), [(0, "0.00 s"), (250, "0.25 s"), (9_999, "10.00 s"), (12_340, "12.3 s")])
def test_seconds(ms: int, shown: str):
    assert looks.seconds(ms) == shown
