"""Hiding who asks. Source: gateway.md ("Sensitive data that is not text"); the oracle for JSON is `json`."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.end_users import hidden, metadata

SECRET = "jane@example.org"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def told(name: str) -> str:
    return f"<{len(name)}>"


def found(body: str) -> str | None:
    """What becomes of the member, None where there is none."""
    members = metadata(body, orjson.loads(body), told)
    assert members.keys() <= {"metadata"}
    return orjson.dumps(members["metadata"]).decode() if members else None


@pytest.mark.parametrize(
    ("value", "what"),
    [("jane", "<4>"), ("", "<0>"), (None, None), (12345, "<5>"), ({"id": 1}, "<8>"), (["é"], "<5>"), (True, "<4>")],
)
def test_whatever_names_somebody_is_replaced(value: object, what: str | None):
    assert hidden(value, told) == what


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{ "user_id" : "jane" , "x":1.0 }', '{ "user_id" : "<4>" , "x":1.0 }'),
        ('{"a":"\\u0062"}', '{"a":"\\u0062"}'),
        ('{"user_id":null}', '{"user_id":null}'),
        ('{"user_id":{"device":"d"}}', '{"user_id":"<14>"}'),
        ("{ }", "{ }"),
        ("null", "null"),
        ('"u"', '"u"'),
    ],
)
def test_nothing_else_of_the_member_changes(before: str, after: str):
    assert found(f'{{"model":"m", "metadata" : {before}}}') == after


def test_a_body_without_it_gets_none():
    assert found('{"model":"m","x":{"metadata":{"user_id":"jane"}}}') is None


@pytest.mark.parametrize(
    "body",
    [
        f'{{"metadata":{{"user_id":"{SECRET}","user_id":"x"}}}}',
        f'{{"metadata":{{"user_id":"x","user_id":"{SECRET}"}}}}',
        f'{{"metadata":{{"user\\u005fid":"{SECRET}"}}}}',
        f'{{"met\\u0061data":{{"user_id":"{SECRET}"}}}}',
        # The last one counts, and stands in the place of all of its name.
        f'{{"metadata":{{"user_id":"{SECRET}"}},"metadata":{{}}}}',
        f'{{"metadata":{{"user_id":"{SECRET}"}},"metadata":null}}',
        f'{{"metadata":{{"user_id":["{SECRET}"]}}}}',
        f'{{"metadata":{{"user_id":{{"{SECRET}":1}}}}}}',
    ],
)
def test_a_name_that_comes_twice_or_is_spelled_otherwise_hides_nothing_less(body: str):
    assert SECRET not in str(found(body))


@given(st.dictionaries(TEXT, VALUE, max_size=4), VALUE, st.sampled_from([None, 1]))
def test_any_member_keeps_all_but_the_name(others: dict[str, Any], user: Any, indent: int | None):
    others.pop("user_id", None)
    body = json.dumps({"metadata": {**others, "user_id": user}}, indent=indent)
    told_of = None if user is None else told(user if isinstance(user, str) else orjson.dumps(user).decode())
    after = found(body)
    assert after is not None
    assert json.loads(after) == {**others, "user_id": told_of}
