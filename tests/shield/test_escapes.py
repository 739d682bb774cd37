"""A value in the form of the text around it. The readers of JSON and of URLs in the standard library are the oracle."""

import json
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.escapes import inside_json, percent_encoded


@given(st.text(), st.integers(0, 4))
def test_as_many_readers_of_json_as_the_depth_says_read_the_value(value: str, depth: int):
    text = inside_json(value, depth)
    for _ in range(depth):
        text = json.loads(f'"{text}"')
    assert text == value


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]).filter(lambda sign: sign != "%")))
def test_a_url_reader_reads_the_value(value: str):
    assert unquote(percent_encoded(value)) == value


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("jane@example.org", "jane%40example.org"),
        ("jane%40example.org", "jane%40example.org"),
        ("06 12/é", "06%2012%2F%C3%A9"),
        ("100%", "100%25"),
        ("\ud800", "%ED%A0%80"),
    ],
)
def test_nothing_that_means_something_in_a_url_is_left(value: str, encoded: str):
    assert percent_encoded(value) == encoded
