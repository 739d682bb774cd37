"""No request body makes the gateway fail: whatever comes, the answer is one of the documented ones."""

import asyncio
import gc
import json
import time
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.box import Box
from tests.json_values import values

PARAMETERS = (
    "model", "messages", "stream", "stream_options", "temperature", "top_p", "seed", "stop", "max_tokens", "tools",
    "tool_choice", "functions", "function_call", "response_format", "n", "logprobs", "top_logprobs", "logit_bias",
    "reasoning_effort", "reasoning", "parallel_tool_calls", "modalities", "audio", "input",
)  # fmt: skip
MEMBERS = (
    "role", "content", "type", "text", "image_url", "url", "tool_calls", "tool_call_id", "id", "function", "name",
    "arguments", "parameters", "json_schema", "schema", "properties", "$ref", "include_usage", "effort",
)  # fmt: skip
WORDS = (
    "user", "assistant", "system", "tool", "function", "text", "image_url", "json_schema", "json_object", "auto",
    "required", "data:image/png;base64,AAAA", "#", "#/$defs/a", "object", "pulse-auto", "agent:x", "",
)  # fmt: skip

value = values(WORDS, MEMBERS)
message = st.dictionaries(st.sampled_from(MEMBERS), value, max_size=4)
body = st.dictionaries(st.sampled_from(PARAMETERS), value, max_size=6) | st.builds(
    lambda fields, messages: {**fields, "messages": messages},
    st.dictionaries(st.sampled_from(PARAMETERS), value, max_size=4),
    st.lists(st.just({"role": "user", "content": "Hi"}) | message, min_size=1, max_size=3),
)


@pytest.fixture
def allowed() -> set[int]:
    return {200, 400, 404, 501}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=body.map(lambda made: json.dumps(made).encode()) | st.binary(max_size=60))
async def test_any_body(gateway: Box, allowed: set[int], content: bytes):
    answer = await gateway.chat(content)
    assert answer.status_code in allowed, (answer.status_code, answer.text)
    assert "Traceback" not in answer.text
    assert gateway.app.drain.in_flight == 0


def many_references(levels: int) -> dict[str, Any]:
    """A schema that is small, and doubles at each level once its references are resolved."""
    defined = {
        f"d{n}": {"type": "object", "properties": {each: {"$ref": f"#/$defs/d{n + 1}"} for each in "ab"}}
        for n in range(levels)
    }
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**defined, f"d{levels}": {}}}


LARGE: dict[str, dict[str, Any]] = {
    "1 MB in one message": {"messages": [{"role": "user", "content": "word " * 200_000}]},
    "1 MB in many messages": {"messages": [{"role": "user", "content": "a"}] * 9_000 + [{"role": "tool"}] * 900},
    "tools that refer": {
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": "function", "function": {"name": "x", "parameters": many_references(14)}}],
        "n": 8,
    },
    "patterns": {
        "messages": [{"role": "user", "content": "a"}] * 9_000,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "s", "schema": {"anyOf": [{"pattern": rf"\p{{L}}{{{n}}}\w+"} for n in range(99)]}},
        },
    },
}


@pytest.mark.parametrize("name", LARGE)
async def test_a_large_prompt_does_not_hold_other_calls_up(gateway: Box, name: str):
    """Issue: a 1 MB prompt delays others by no more than 50 ms. Its parts that are ours are measured here."""
    large = orjson.dumps(LARGE[name])
    stop = asyncio.Event()
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while not stop.is_set():
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began)

    gc.collect()
    # What earlier tests left in this process would be gone through again each time, and is not the gateway's. It stays
    # frozen: so is what was collected (tests/conftest.py), and there is no telling them apart.
    gc.freeze()
    watching = asyncio.ensure_future(watch())
    answers: list[Any] = [await gateway.chat(large) for _ in range(5)]
    stop.set()
    await watching
    assert {answer.status_code for answer in answers} == {400}  # longer than the model's context
    # A bound against a stall, on a machine that is busy with other tests; scripts/bench gateway measures the figure.
    assert longest < 0.5
