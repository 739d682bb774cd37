"""What Anthropic's errors mean. Sources: Anthropic's documentation ("Errors"); PyPI `anthropic` 2.14.0; public issues.

The texts are as people have reported them: anthropics/claude-code 3512 and 24451, docker/docker-agent 569,
infiniflow/ragflow 11815, continuedev/continue 10011, can1357/oh-my-pi 341, vercel/ai 12296, BerriAI/litellm 3286; the
overflow is dialects.md §1.2.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.anthropic.refusals import refusal, reported
from appliance.dialects.upstream import ProviderError


def said(status: int, kind: str, message: str, **more: Any) -> ProviderError:
    error = {"type": kind, "message": message, **more}
    return refusal(status, json.dumps({"type": "error", "error": error, "request_id": "req_1"}).encode())


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (401, "authentication_error", "invalid x-api-key", "key"),
        (403, "permission_error", "Your API key does not have permission to use the specified resource.", "key"),
        (402, "billing_error", "There's an issue with your billing or payment information.", "key"),
        (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", "key"),
        (400, "invalid_request_error", "You have reached your specified API usage limits.", "key"),
        (400, "invalid_request_error", "This organization has been disabled.", "key"),
        (404, "not_found_error", "model: claude-none", "model"),
        (404, "not_found_error", "Not Found", "failed"),
        (400, "invalid_request_error", "max_tokens: Field required", "request"),
        (413, "request_too_large", "Request exceeds the maximum size", "size"),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context"),
        (413, "request_too_large", "prompt is too long: 210000 tokens > 200000 maximum", "context"),
        (429, "rate_limit_error", "This request would exceed your rate limit.", "busy"),
        (529, "overloaded_error", "Overloaded", "busy"),
        (500, "api_error", "Internal server error", "failed"),
        (504, "timeout_error", "The request timed out.", "failed"),
        (418, "teapot_error", "I am one.", "failed"),
    ],
)
def test_kind(status: int, kind: str, message: str, expected: str):
    assert said(status, kind, message).kind == expected


def test_an_organization_on_hold_is_told_by_its_code():
    assert said(400, "invalid_request_error", "No.", details={"error_code": "organization_on_hold"}).kind == "key"
    assert said(400, "invalid_request_error", "No.", details={"error_code": "else"}).kind == "request"


class TestSentences:
    def test_a_model_that_it_does_not_have(self):
        error = said(404, "not_found_error", "model: claude-none")
        assert (error.message, error.param) == ("Anthropic does not have the model 'claude-none'.", "model")

    def test_a_wrong_address_is_no_missing_model(self):
        assert "base URL" in said(404, "not_found_error", "Not Found").message

    def test_a_prompt_that_is_too_long_has_both_numbers(self):
        error = said(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
        assert error.message == (
            "This model's maximum context length is 200000 tokens, but the messages came to 210000 tokens."
        )
        assert error.param == "messages"

    def test_a_prompt_that_leaves_no_room_says_so(self):
        error = said(
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or "
            "`max_tokens` and try again",
        )
        assert error.kind == "context"
        assert all(number in error.message for number in ("178959", "64000", "200000"))

    def test_a_refusal_is_told_in_its_own_words(self):
        error = said(400, "invalid_request_error", "temperature:\n range: 0..1")
        assert error.message == "Anthropic refuses the request: temperature: range: 0..1"

    def test_a_long_one_is_cut(self):
        assert len(said(500, "api_error", "x" * 9000).message) < 600

    def test_one_without_words(self):
        assert said(529, "overloaded_error", "").message == "Anthropic is overloaded: It gave no reason."


@pytest.mark.parametrize(
    ("message", "param"),
    [
        (
            "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5",
            "max_tokens",
        ),
        ("temperature: range: 0..1", "temperature"),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "temperature"),
        ("`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
        ("top_p: range: 0..1", "top_p"),
        ("stop_sequences: each stop sequence must contain non-whitespace", "stop"),
        ("tools.9.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", "tools"),
        ("Thinking may not be enabled when tool_choice forces tool use.", "tool_choice"),
        ("output_config.format.schema: For 'integer' type, property 'minimum' is not supported", "response_format"),
        ("output_config.effort: Input should be 'low', 'medium' or 'high'", "reasoning_effort"),
        ("This model does not support the effort parameter.", "reasoning_effort"),
        ("adaptive thinking is not supported on this model", "reasoning_effort"),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", "messages"),
        ("system: text content blocks must be non-empty", "messages"),
        (
            "This model does not support assistant message prefill. The conversation must end with a user message.",
            "messages",
        ),
        ("Something else.", None),
    ],
)
def test_the_field_that_is_to_blame_has_its_name_of_the_callers_dialect(message: str, param: str | None):
    assert said(400, "invalid_request_error", message).param == param


class TestBodiesThatAreNotTheApis:
    """Of proxies, or of another server at the address."""

    @pytest.mark.parametrize(
        ("status", "kind"),
        [(401, "key"), (413, "size"), (429, "busy"), (503, "busy"), (529, "busy"), (400, "failed"), (404, "failed"),
         (302, "failed"), (502, "failed")],
    )  # fmt: skip
    @pytest.mark.parametrize("body", [b"", b"<html><h1>No</h1></html>", b'{"detail":"No"}', b'{"error":"No"}', b"\xff"])
    def test_the_status_decides(self, status: int, kind: str, body: bytes):
        error = refusal(status, body)
        assert error.kind == kind
        assert "<" not in error.message

    def test_a_strange_one_says_where_to_look(self):
        assert refusal(404, b"<html>").message == (
            "The provider answered with status 404 and not as Anthropic does: check its base URL and any proxy."
        )


KEY = "sk-ant-api03-abcDEF_123-xyz"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 529])
@pytest.mark.parametrize("kind", ["invalid_request_error", "authentication_error", "permission_error", "api_error"])
def test_no_sentence_quotes_a_key(status: int, kind: str):
    error = said(status, kind, f"Incorrect API key provided: {KEY}, {KEY[:14]}****. prompt")
    assert "sk-" not in error.message
    assert "sk-" not in refusal(status, KEY.encode()).message


def test_a_key_that_the_limit_of_the_text_would_cut_is_not_quoted_either():
    assert "sk-" not in said(500, "api_error", "x" * 490 + " " + KEY).message


@given(st.integers(300, 599), st.binary(max_size=60) | st.just(b'{"error":{"type":[],"message":{}}}'))
def test_any_refusal_has_a_sentence(status: int, body: bytes):
    error = refusal(status, body)
    assert error.message.endswith((".", ")")) or ": " in error.message


@given(
    st.dictionaries(
        st.sampled_from(["type", "message", "details"]), st.none() | st.text(max_size=4) | st.lists(st.none())
    )
)
def test_any_error_object_has_a_sentence(error: dict[str, Any]):
    assert reported(error).message
