"""How deep in JSON a place is. The JSON writer of the standard library is the oracle."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.nesting import DEEPEST, Nesting

MARK = "@@@"


def depth_at_mark(text: str, depth: int = 1, size: int = 10**9) -> int:
    nesting = Nesting(depth)
    before = text[: text.index(MARK)]
    for at in range(0, len(before), size):
        nesting.read(before[at : at + size])
        nesting.depth()
    return nesting.depth()


def nested(levels: int, *, ascii_only: bool = True) -> str:
    value: object = {"é": ["x", MARK]}
    for _ in range(levels - 1):
        value = {"a": None, "p": [1.5e3, True, json.dumps(value, ensure_ascii=ascii_only)], "z": "{"}
    return json.dumps(value, ensure_ascii=ascii_only)


@pytest.mark.parametrize("levels", range(1, 6))
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("size", [1, 2, 7, 10**9])
def test_documents_in_documents(levels: int, ascii_only: bool, size: int):
    assert depth_at_mark(nested(levels, ascii_only=ascii_only), 1, size) == levels


def test_deeper_than_can_be_told_apart_is_the_deepest():
    assert depth_at_mark(nested(DEEPEST + 2)) == DEEPEST


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("size", [1, 5, 10**9])
def test_a_document_that_comes_escaped(depth: int, size: int):
    text = nested(2)
    for _ in range(depth - 1):
        text = json.dumps(text)[1:-1]
    assert depth_at_mark(text, depth, size) == depth + 1


@pytest.mark.parametrize(
    "value",
    [
        f'she said "{MARK}"', f'"{MARK}"', f"[1] see {MARK}", f'[1] see "{MARK}"', f"{{x}} {MARK}", MARK, f"{{ {MARK}",
        f'{{"a": "b"}} and "{MARK}"', f'true "{MARK}"', f'12 "{MARK}"', f'[nope, "{MARK}"]', f'{{"a"}}{{"{MARK}"',
        f"\\{MARK}",
    ],
)  # fmt: skip
def test_a_string_that_is_no_document_is_one_deep(value: str):
    assert depth_at_mark(json.dumps({"text": value})) == 1


@pytest.mark.parametrize(
    "text", [f'"{MARK}"', f"{{{MARK}", MARK, f"]{MARK}", f'{{"a": 1}} "{MARK}"', f'{{"a": "\\u00zz{MARK}"']
)
def test_a_text_that_is_no_document_has_the_depth_that_was_told(text: str):
    assert depth_at_mark(text, 1) == 1
    assert depth_at_mark(text, 3) == 3


@given(
    st.recursive(
        st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_a_string_of_any_document_is_one_deep_or_holds_one(value: object):
    text = json.dumps([value, MARK])
    assert depth_at_mark(text) == 1
    assert depth_at_mark(json.dumps([text])) == 2
