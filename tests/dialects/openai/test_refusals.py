"""Bodies: the API references of OpenAI and Mistral, and what servers are quoted to say in public issues (see each)."""

from typing import Any

import orjson
import pytest

from appliance.dialects.openai.refusals import MAX_ERROR_CHARACTERS, refusal, told


def openai(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **fields}}


MISTRAL_MODEL = {
    "object": "error",
    "message": "Invalid model: m",
    "type": "invalid_model",
    "param": None,
    "code": "1500",
}
MISTRAL_EXTRA = {
    "object": "error",
    "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "user"], "msg": "Extra inputs are not permitted",
                            "input": "jane"}]},
    "type": "invalid_request_error",
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, openai("Incorrect API key provided: sk-x.", code="invalid_api_key"), "key"),
        (401, {"message": "Unauthorized", "request_id": "x"}, "key"),  # Mistral
        (403, openai("Country not supported", code="unsupported_country_region_territory"), "key"),
        (403, openai("Project does not have access to model `m`", code="model_not_found"), "model"),
        (402, {"error": {"message": "Insufficient Balance"}}, "key"),  # DeepSeek
        (429, openai("You exceeded your current quota", type="insufficient_quota", code="insufficient_quota"), "key"),
        (404, openai("The model `m` does not exist", code="model_not_found"), "model"),
        (404, {"object": "error", "message": "The model `m` does not exist."}, "model"),  # vLLM
        (404, openai("Invalid URL (POST /v1/v1/chat/completions)"), "failed"),
        (404, {"detail": "Not Found"}, "failed"),  # FastAPI
        (404, b"<html>no such model page</html>", "failed"),
        (400, MISTRAL_MODEL, "model"),
        (400, openai("Invalid value", param="n"), "request"),
        (400, b"", "request"),
        (413, b"too large", "size"),
        (422, MISTRAL_EXTRA, "request"),
        (400, openai("too long", code="context_length_exceeded", param="messages"), "context"),
        (400, {"message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
               "context length"}, "context"),
        (400, [{"error": {"message": "the context window is too small"}}], "context"),
        (429, openai("Rate limit reached", type="requests", code="rate_limit_exceeded"), "busy"),
        (429, {"message": "Requests rate limit exceeded"}, "busy"),
        (503, openai("The engine is currently overloaded"), "busy"),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "busy"),
        (500, openai("The server had an error", type="server_error"), "failed"),
        (500, openai("too big a context length", code="context_length_exceeded"), "failed"),
        (502, b"<html>502 Bad Gateway</html>", "failed"),
        (418, b"", "failed"),
    ],
)  # fmt: skip
def test_whose_fault_it_is(status: int, body: object, kind: str):
    error = refusal(status, body if isinstance(body, bytes) else orjson.dumps(body))
    assert error.kind == kind
    assert error.message


@pytest.mark.parametrize("status", [401, 402, 403, 429])
def test_what_is_said_about_a_key_is_not_handed_on(status: int):
    error = refusal(status, orjson.dumps(openai("Incorrect API key provided: sk-secret.", code="invalid_api_key")))
    assert "sk-" not in error.message
    assert str(status) in error.message


@pytest.mark.parametrize(
    ("said", "limit", "used"),
    [
        ("This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens. "
         "Please reduce the length of the messages.", 128000, 140000),
        ("This model's maximum context length is 4097 tokens, however you requested 6539 tokens (6283 in your prompt; "
         "256 for the completion).", 4097, 6539),
        ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
         32768, 40000),
        ("request (6010 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 6010),
        ("You passed 98305 input tokens and requested 32768 output tokens. However, the model's context length is only "
         "131072 tokens, resulting in a maximum input length of 98304 tokens.", 131072, 98305),
        ("The decoder prompt (length 2136) is longer than the maximum model length of 2048. Make sure that "
         "`max_model_len` is no smaller than the number of text tokens.", 2048, 2136),
    ],
)  # fmt: skip
def test_an_overflow_is_told_in_the_words_that_clients_match(said: str, limit: int, used: int):
    error = refusal(400, orjson.dumps(openai(said)))
    assert error.message == (
        f"This model's maximum context length is {limit} tokens, but the messages came to {used} tokens."
    )
    assert (error.kind, error.param) == ("context", "messages")


def test_an_overflow_without_numbers_is_told_as_it_is():
    assert refusal(400, orjson.dumps(openai("The prompt is too long."))).message == "The prompt is too long."


def test_the_request_s_fault_names_its_field_and_quotes_no_input():
    assert refusal(400, orjson.dumps(openai("Invalid value", param="n"))).param == "n"
    assert refusal(422, orjson.dumps(MISTRAL_EXTRA)).message == "user: Extra inputs are not permitted"
    assert refusal(500, orjson.dumps(openai("Oh no", param="n"))).param is None


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'{"error": 5}', b'{"detail": [5, {"msg": 5}]}', b"\xff"])
def test_any_body_gives_a_sentence(body: bytes):
    assert refusal(500, body).message


def test_a_page_is_cut():
    assert len(refusal(502, b"x" * 100_000).message) == MAX_ERROR_CHARACTERS


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "m", "type": "server_error"}, "failed"),
        ({"message": "m", "code": "rate_limit_exceeded"}, "busy"),
        ({"message": "maximum context length", "type": "invalid_request_error"}, "context"),
        ({"message": "m", "type": "invalid_request_error"}, "request"),
        ("m", "failed"),
        (5, "failed"),
        ({}, "failed"),
    ],
)
def test_errors_in_mid_stream(error: object, kind: str):
    assert told(error).kind == kind
    assert told(error).message
