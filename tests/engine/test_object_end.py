"""Where an object ends. The oracle is `json`, which reads one value from the front of a text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.object_end import ObjectEnd

TEXTS = st.text(st.sampled_from('{}[]"\\,:a</\n ')) | st.text(max_size=5)
OBJECTS = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS | st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
        max_leaves=12,
    ),
    max_size=4,
)


@given(
    value=OBJECTS,
    after=TEXTS,
    blanks=st.text(st.sampled_from(" \n\t\r"), max_size=3),
    indent=st.sampled_from([None, 1]),
)
def test_an_object_ends_where_json_says(value: dict[str, object], after: str, blanks: str, indent: int | None):
    text = blanks + json.dumps(value, indent=indent)
    assert ObjectEnd().find(text + after) == len(text)
    letter_by_letter = ObjectEnd()
    assert [letter_by_letter.find(text[:size]) for size in range(len(text))] == [None] * len(text)
    assert letter_by_letter.find(text + after) == len(text)


@pytest.mark.parametrize("text", ["x", " [1]", "}", "</tool_call>", '"a"', '{"a\n', '{"a": "\x00', "[{"])
def test_what_begins_no_object(text: str):
    assert ObjectEnd().find(text) == "never"


@pytest.mark.parametrize("text", ["", " \n", "{", '{"}', '{"a": "}\\"}', '{"a": [{}]', '{"a": "\\\\\\"}'])
def test_what_is_still_open(text: str):
    assert ObjectEnd().find(text) is None


def test_every_letter_is_looked_at_once():
    class Counted(str):
        looked = 0

        def __getitem__(self, key: object) -> str:
            Counted.looked += 1
            return super().__getitem__(key)

    end = ObjectEnd()
    for size in range(1000):
        end.find(Counted('{"' + "a" * size))
    assert Counted.looked < 1100
