"""Expected values: RFC 8259 as the standard library's `json` reads it, and architecture.md, rule 1."""

import json
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.jsonmembers import ABSENT, Absent, member, with_members

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["a", "b", '"', "\\", "{,", "}"])
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SPACE = st.text(st.sampled_from(" \t\r\n"), max_size=2)


@dataclass(frozen=True)
class Member:
    name: str
    before: str
    """All up to the value: white space, the name as it is written, the colon."""
    value: str
    after: str


@dataclass(frozen=True)
class Document:
    members: list[Member]
    head: str
    tail: str

    @property
    def names(self) -> set[str]:
        return {one.name for one in self.members}

    def text(self, values: dict[str, str] | None = None, added: str = "") -> str:
        """As it was, with other values for some names; what is added stands behind the last value."""
        last = len(self.members) - 1
        members = [
            one.before + (values or {}).get(one.name, one.value) + (added if i == last else "") + one.after
            for i, one in enumerate(self.members)
        ]
        return f"{self.head}{{{','.join(members) or added}}}{self.tail}"


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """An object with white space, escapes and names that come twice."""
    members: list[Member] = []
    for name in draw(st.lists(TEXT, max_size=5)):
        literal = json.dumps(name, ensure_ascii=draw(st.booleans()))
        before = f"{draw(SPACE)}{literal}{draw(SPACE)}:{draw(SPACE)}"
        value = json.dumps(draw(VALUE), indent=draw(st.sampled_from([None, 1])))
        members.append(Member(name, before, value, draw(SPACE)))
    return Document(members, draw(SPACE), draw(SPACE))


def pairs(document: str) -> list[tuple[str, Any]]:
    """The members, twice those that are there twice."""
    read: list[tuple[str, Any]] = json.loads(document, object_pairs_hook=lambda found: found)
    return read


def compact(value: Any) -> str:
    return orjson.dumps(value).decode()


@given(documents(), st.dictionaries(TEXT, VALUE, max_size=3))
def test_the_members_have_their_new_values_and_no_other_byte_changes(document: Document, wanted: dict[str, Any]):
    new = ",".join(f"{compact(name)}:{compact(wanted[name])}" for name in wanted if name not in document.names)
    added = f",{new}" if new and document.members else new
    values = {name: compact(value) for name, value in wanted.items()}
    assert with_members(document.text(), wanted) == document.text(values, added)


@given(documents(), st.sets(TEXT, max_size=3), st.dictionaries(TEXT, VALUE, max_size=2))
def test_what_is_taken_out_leaves_all_the_others_as_they_were(
    document: Document, gone: set[str], added: dict[str, Any]
):
    wanted: dict[str, object | Absent] = {**added, **dict.fromkeys(gone, ABSENT)}
    written = with_members(document.text(), wanted)
    left = [one for one in pairs(document.text()) if one[0] not in wanted]
    assert [one for one in pairs(written) if one[0] not in wanted] == left
    assert {name for name, _ in pairs(written)} & gone == set()
    assert added.keys() - gone <= {name for name, _ in pairs(written)}
    assert all(one.before.lstrip() + one.value in written for one in document.members if one.name not in wanted)


@given(documents())
def test_no_change_changes_nothing(document: Document):
    assert with_members(document.text(), {}) == document.text()
    assert with_members(document.text(), {"not there": ABSENT}) == document.text()


@pytest.mark.parametrize(
    ("document", "members", "wanted"),
    [
        ('{ "a" : 1 ,"b":[1.0, 1E+2] }', {"a": 2}, '{ "a" : 2 ,"b":[1.0, 1E+2] }'),
        ('{"a":1,"b":{"a":1},"a" : "x"}', {"a": None}, '{"a":null,"b":{"a":1},"a" : null}'),
        ('{"mod\\u0065l":"x"}', {"model": "y"}, '{"mod\\u0065l":"y"}'),
        ('{"a":1}\n', {"b": "é"}, '{"a":1,"b":"é"}\n'),
        ('{\n "a": 1\n}', {"b": 2}, '{\n "a": 1,"b":2\n}'),
        ("{ }", {"b": 2}, '{"b":2 }'),
        ("{}", {"b": 2, "c": ABSENT}, '{"b":2}'),
        ('{ "a": 1, "b": 2 }', {"a": ABSENT}, '{ "b": 2 }'),
        ('{ "a": 1, "b": 2 }', {"b": ABSENT}, '{ "a": 1 }'),
        ('{ "a": 1, "b": 2 }', {"a": ABSENT, "b": ABSENT}, "{  }"),
        ('{"a":1,"b":2,"c":3,"d":4}', {"b": ABSENT, "c": ABSENT, "e": 5}, '{"a":1,"d":4,"e":5}'),
        ('{"a":1,"b":2,"c":3,"d":4}', {"c": ABSENT, "d": ABSENT, "a": 0, "e": 5}, '{"a":0,"b":2,"e":5}'),
        ('{"a":1,"a":2}', {"a": ABSENT, "b": 3}, '{"b":3}'),
        ('{"a":"}\\",{","b":[{"a":[]},"]"]}', {"b": 1}, '{"a":"}\\",{","b":1}'),
        ('{"a":1}', {"a": orjson.Fragment('{ "as": 1.0 }')}, '{"a":{ "as": 1.0 }}'),
    ],
)
def test_examples(document: str, members: dict[str, object], wanted: str):
    assert with_members(document, members) == wanted


def test_the_text_of_a_member_is_that_of_the_last_of_its_name():
    document = '{"a": {"x" : 1.0} , "b": 1,"\\u0061":[ 2 ] }'
    assert member(document, "a") == "[ 2 ]"
    assert member(document, "x") is None
    assert member('{"a": {"x" : 1.0} }', "a") == '{"x" : 1.0}'
    assert member(document, "b") == "1"


@pytest.mark.parametrize("unit", ['"\\\\",', '{"a":1},', "[],", '"{",', "1,"])
def test_a_megabyte_is_written_within_seconds(unit: str):
    document = '{"m":[' + unit * (2**20 // len(unit)) + '0],"a":1}'
    assert with_members(document, {"a": 2}) == document[:-2] + "2}"
