"""The elements of a list in their own text. The oracle is `json`; source of what a list may be: RFC 8259."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.jsonlists import elements, joined

BRACKETS = st.sampled_from(['"', "\\", "],", "[", "{,}", ""])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | BRACKETS
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
SPACE = st.text(st.sampled_from(" \t\r\n"), max_size=3)


@dataclass(frozen=True)
class Listed:
    texts: list[str]
    document: str


@st.composite
def lists(draw: st.DrawFn) -> Listed:
    """A list with white space anywhere, within its elements too, and characters escaped or not."""
    texts = [
        json.dumps(value, indent=draw(st.sampled_from([None, 0, 2])), ensure_ascii=draw(st.booleans()))
        for value in draw(st.lists(VALUE, max_size=5))
    ]
    inside = ",".join(f"{draw(SPACE)}{text}{draw(SPACE)}" for text in texts) or draw(SPACE)
    return Listed(texts, f"{draw(SPACE)}[{inside}]{draw(SPACE)}")


@given(lists())
def test_each_element_is_its_own_text_to_the_byte(listed: Listed):
    assert elements(listed.document) == listed.texts


@given(lists())
def test_joined_again_they_are_the_same_list(listed: Listed):
    found = elements(listed.document)
    assert joined(found) == f"[{','.join(listed.texts)}]"
    assert elements(joined(found)) == found
    assert json.loads(joined(found)) == json.loads(listed.document)


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        ("[]", []),
        (" [ \n ] ", []),
        ("[1]", ["1"]),
        ("[[]]", ["[]"]),
        ('["",{}]', ['""', "{}"]),
        ('[ {"a" : [1, 2]} ,\t"],[" , 1E+2 ]', ['{"a" : [1, 2]}', '"],["', "1E+2"]),
        (r'["\\", "\"]", "\u005d"]', [r'"\\"', r'"\"]"', r'"\u005d"']),
        # No white space of JSON, and part of what it stands in.
        ('["\u00a0",\n"\u2028 "]', ['"\u00a0"', '"\u2028 "']),
    ],
)
def test_examples(document: str, wanted: list[Any]):
    assert elements(document) == wanted


def test_an_iterator_is_joined_too():
    assert joined(iter(["1", " 2"])) == "[1, 2]"
    assert joined(()) == "[]"


@pytest.mark.parametrize("unit", ['"\\\\"', "[]", "{}", '"["', '"\\"]"', "1"])
def test_a_megabyte_is_read_within_seconds(unit: str):
    count = 2**20 // (len(unit) + 1)
    assert elements(f"[{','.join([unit] * count)}]") == [unit] * count
