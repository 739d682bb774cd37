"""Source: completions.md ("Request body", `supplementary`)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.native.supplementary import Block, as_text, render

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=9,
)


def test_sections_stand_under_one_heading_apart_and_by_priority():
    blocks = [
        Block("Old", "l", "low"),
        Block("First", "m1"),
        Block("Account", '{\n  "plan": "Pro"\n}', "high"),
        Block("Second", "m2"),
        Block("Other", "h", "high"),
    ]
    assert render(blocks) == (
        "## SUPPLEMENTARY CONTEXT\n\n"
        '### Account (HIGH PRIORITY)\n{\n  "plan": "Pro"\n}\n\n'
        "### Other (HIGH PRIORITY)\nh\n\n"
        "### First\nm1\n\n"
        "### Second\nm2\n\n"
        "### Old\nl"
    )


def test_without_blocks_there_is_no_heading():
    assert render([]) == ""


def test_a_title_stays_on_its_line():
    assert render([Block("A\n\n### B \t C", "x")]).splitlines()[2] == "### A ### B C"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("as it is\n  \\n é", "as it is\n  \\n é"),
        ("", ""),
        ({"plan": "Pro", "since": "2024-03"}, '{\n  "plan": "Pro",\n  "since": "2024-03"\n}'),
        ({"a": {"b": [1, "é"]}}, '{\n  "a": {\n    "b": [\n      1,\n      "é"\n    ]\n  }\n}'),
        ([1.5, True], "[\n  1.5,\n  true\n]"),
        ({}, "{}"),
        (7, "7"),
        (False, "false"),
    ],
)
def test_strings_are_as_they_are_and_all_else_is_indented_json(data: Any, text: str):
    assert as_text(data) == text


@given(JSON.filter(lambda data: not isinstance(data, str)))
def test_it_is_the_same_json_however_it_was_written(data: Any):
    assert json.loads(as_text(data)) == data
    assert as_text(data, json.dumps(data)) == json.dumps(data, ensure_ascii=False, indent=2)


def test_a_number_of_any_length_is_the_same_number():
    written = '{"account":12345678901234567890123,"rate":1.10,"name":"\\u00e9"}'
    text = as_text(json.loads(written), written)
    assert text == '{\n  "account": 12345678901234567890123,\n  "rate": 1.1,\n  "name": "é"\n}'


def test_one_that_nothing_can_write_again_stands_as_it_came():
    written = '{"n":1' + "0" * 5000 + "}"
    assert as_text({"n": 0.0}, written) == written
