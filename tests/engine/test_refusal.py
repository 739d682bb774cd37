"""Refusals."""

import json

from appliance.engine.refusal import Refused, context_exceeded
from appliance.errors import EngineError


def test_a_refusal_is_one_of_our_errors():
    refused = Refused(404, "model 'x' not found")
    assert isinstance(refused, EngineError)
    assert (refused.status, refused.message) == (404, "model 'x' not found")


def test_the_overflow_error_as_recorded():
    refused = context_exceeded(6010, 4096)  # recording 31
    assert refused.status == 400
    assert json.loads(refused.message) == {
        "error": {
            "code": 400,
            "message": "request (6010 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 6010,
            "n_ctx": 4096,
        }
    }
