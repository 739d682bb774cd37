"""The error object. Sources: dialects.md §1.1 ("Errors": all four keys), gateway.md ("Errors")."""

import json

import pytest

from appliance.dialects.openai import errors


@pytest.mark.parametrize(
    ("code", "param"), [("invalid_request_error", "messages[0].role"), (None, None), ("invalid_api_key", None)]
)
def test_all_four_keys_are_always_there(code: str | None, param: str | None):
    body = errors.body('Not "this".', "invalid_request_error", code, param)
    assert json.loads(body) == {
        "error": {"message": 'Not "this".', "type": "invalid_request_error", "param": param, "code": code}
    }


def test_it_fits_in_one_line_of_an_event():
    assert b"\n" not in errors.body("two\nlines\r\n", "api_error", None, None)
