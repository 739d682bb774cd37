"""The error object.

Sources: dialects.md §1.2 ("Errors"), gateway.md ("Errors"); the types of PyPI `anthropic` 2.14.0.
"""

import json
import re

import pytest
from anthropic.types import ErrorResponse

from appliance.dialects.anthropic import errors, request
from appliance.dialects.chat import DialectError
from appliance.dialects.openai import written

TYPES = (
    "invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error",
    "rate_limit_error", "api_error", "timeout_error", "overloaded_error",
)  # fmt: skip


@pytest.mark.parametrize("kind", [*TYPES, "request_too_large"])
def test_the_object(kind: str):
    assert json.loads(errors.body('Not "this".', kind, "req_1")) == {
        "type": "error",
        "error": {"type": kind, "message": 'Not "this".'},
        "request_id": "req_1",
    }


@pytest.mark.parametrize("kind", TYPES)
def test_the_official_client_knows_its_type(kind: str):
    read = ErrorResponse.model_validate_json(errors.body("No.", kind, "req_1"), strict=True)
    assert (read.error.type, read.error.message, read.request_id) == (kind, "No.", "req_1")


def test_it_fits_in_one_line_of_an_event():
    assert b"\n" not in errors.body("two\nlines\r\n", "api_error", "req_1")


class TestFields:
    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ("`response_format` is wrong.", "`output_config.format` is wrong."),
            ("`reasoning_effort` is wrong.", "`output_config.effort` is wrong."),
            ("`stop` has more.", "`stop_sequences` has more."),
            ("`max_completion_tokens` is wrong.", "`max_tokens` is wrong."),
            ("`stop` and `stop`, `response_format`.", "`stop_sequences` and `stop_sequences`, `output_config.format`."),
        ],
    )
    def test_are_called_as_the_caller_wrote_them(self, said: str, told: str):
        assert errors.worded(said) == told
        assert json.loads(errors.body(said, "invalid_request_error", "req_1"))["error"]["message"] == told

    @pytest.mark.parametrize(
        "said",
        [
            "The model did not stop in time; stop it.",
            "`stop_sequences` must be a list of strings.",
            "`messages[0].content` has no text.",
            "`stop.x` and `stop ` and 'stop' and \"response_format\".",
            "",
        ],
    )
    def test_other_words_stay(self, said: str):
        assert errors.worded(said) == said

    def test_a_refusal_by_a_provider_of_another_dialect_names_what_the_caller_wrote(self):
        asked = {"max_tokens": 9, "messages": [{"role": "user", "content": "a"}], "stop_sequences": [*"abcde"]}
        with pytest.raises(DialectError) as refused:
            written.body(request.parse(json.dumps(asked).encode()).chat, model="gpt-4o", compatible=False)
        told = errors.worded(refused.value.message)
        assert told == "The provider takes at most 4 stop sequences: `stop_sequences` has more."


def test_a_prompt_that_is_too_long_is_told_in_the_words_that_clients_parse():
    """Claude Code reads the numbers out of it (dialects.md §1.2)."""
    told = errors.too_long(40000, 32768)
    assert told == "prompt is too long: 40000 tokens > 32768 maximum"
    found = re.search(r"prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)", told, re.IGNORECASE)
    assert found
    assert found.groups() == ("40000", "32768")
