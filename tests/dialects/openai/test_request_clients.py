"""Reading calls that nobody here made up: those of real clients, as recorded, and arbitrary ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import DialectError
from appliance.dialects.openai.request import Request, parse

RECORDINGS = Path(__file__).parents[3].parent / "shared" / "recordings" / "clients"


def recorded() -> list[Any]:
    return [
        pytest.param(path, id=path.stem) for path in sorted(RECORDINGS.glob("*-POST_v1_chat_completions.json"))
    ] or [pytest.param(None, marks=pytest.mark.skip(reason="the recordings of real clients are not on this machine"))]


@pytest.mark.parametrize("path", recorded())
def test_real_clients(path: Path):
    """Every recorded call is read, or refused for the first thing in it that has an effect of another kind."""
    body = json.loads(path.read_text())["body"]
    expected = {
        "js-lcjs-03": "tools",
        "js-lcjs-04": "response_format",
        "js-vercel-02": "tools",
        "js-vercel-03": "response_format",
        "llm-hi-03": "response_format",
        "llm-hi-04": "tools",
        "sdk-langchain-03": "tools",
        "sdk-langchain-04": "response_format",
        "sdk-langchain-05": "tools",
        "sdk-langchain-06": "response_format",
        "sdk-langchain-07": "reasoning_effort",
        "sdk-openai-02": "logprobs",
        "sdk-openai-03": "response_format",
    }.get(path.stem.removesuffix("-POST_v1_chat_completions"))
    if expected is not None:
        with pytest.raises(DialectError) as error:
            parse(json.dumps(body).encode())
        assert error.value.param == expected
        return
    request = parse(json.dumps(body).encode())
    assert request.model == body["model"]
    assert request.stream is body.get("stream", False)
    assert [message.text for message in request.chat.messages] == [message["content"] for message in body["messages"]]
    assert request.chat.sampling.temperature == body.get("temperature")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(-3, 3)
    | st.sampled_from(["text", "user", "assistant", "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "role", "content", "effort", "include_usage"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(
    [
        "model",
        "messages",
        "stream",
        "stream_options",
        "stop",
        "seed",
        "n",
        "tools",
        "temperature",
        "reasoning",
        "response_format",
        "max_tokens",
    ]
)


@given(st.dictionaries(NAMES, JSON))
def test_any_object_is_a_call_or_refused_with_a_name(body: dict[str, object]):
    try:
        outcome: Request | DialectError = parse(json.dumps(body).encode())
    except DialectError as error:
        outcome = error
    if isinstance(outcome, Request):
        assert outcome.chat.messages
    else:
        assert outcome.param
        assert f"`{outcome.param}`" in outcome.message
