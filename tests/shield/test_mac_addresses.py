"""MAC addresses. Sources: shield.md ("Detection"), IEEE 802; the vectors are python-stdnum's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.mac_addresses import find
from tests.shield.data import labelled_json
from tests.shield.found import values


def test_of_the_vectors_those_of_six_pairs():
    vectors = labelled_json("number_vectors.json")["mac"]
    found = [each for each in vectors if values(find, each) == [each]]
    assert found == [
        "2c:76:8a:ad:f2:74", "D0-50-99-84-A2-A0", "D0:50:99:84:A2:A0", "FF-FF-FF-FF-FF-FF", "d0:05:09:04:a2:a0",
        "d0:50:99:84:a2:a0", "fd:ff:ff:84:a2:a0", "fe:54:00:76:07:0a",
    ]  # fmt: skip
    assert [each for each in vectors if each not in found and values(find, each)] == []


@given(st.binary(min_size=6, max_size=6), st.booleans())
def test_any_six_bytes(octets: bytes, upper: bool):
    colons, hyphens, dots = octets.hex(":"), octets.hex("-"), octets.hex(".", 2)
    for each in (colons, hyphens, dots):
        written = each.upper() if upper else each
        assert values(find, f"MAC {written};") == [written]


@pytest.mark.parametrize(
    "text",
    [
        "A9:4A:8F:E5:CC:B1:9B",
        "A9:4A:8F:E5:CC:B1:9B:A6:1C:4C:08:73:D3:91:E9:87:98:2F:BB:D3",
        "A9:4A:8F:E5:CC",
        "00:1A-2B:3C-4D:5E",
        "00:1A:2B:3C:4D-5E",
        "x00:1A:2B:3C:4D:5E",
        "00:1A:2B:3C:4D:5Ex",
        "00:1A:2B:3C:4D:5G",
        "12-34-56-78-90-12",
        "1234.5678.9012",
        "[.1fbb.0020.0002]",
        "001a.2b3c.4d5e.6f70",
        "2024-01-31-12-30-45",
    ],
)
def test_what_is_none(text: str):
    assert values(find, text) == []


@pytest.mark.parametrize("text", ["MAC:00:1a:2b:3c:4d:5e", "wlan0:00:1a:2b:3c:4d:5e", "\\n00:1a:2b:3c:4d:5e"])
def test_after_a_label_that_looks_like_a_part(text: str):
    assert values(find, text) == ["00:1a:2b:3c:4d:5e"]
