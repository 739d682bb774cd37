"""No body of `POST /v1/ai/complete` makes the gateway fail: it is answered, or told what is wrong with it."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.box import Box
from tests.json_values import leaves, values

COMPLETE = "/v1/ai/complete"
FIELDS = (
    "systemPrompt", "messages", "supplementary", "extraction", "json", "max_tokens", "temperature", "model", "stream",
)  # fmt: skip
MEMBERS = ("role", "content", "category", "label", "data", "priority", "source", "categories", "persist")
WORDS = ("user", "assistant", "system", "high", "medium", "low", "customer", "", " ", '{"a":"b"}', "jane@example.org")

leaf = leaves(WORDS)
value = values(WORDS, MEMBERS)
message = st.fixed_dictionaries({"role": st.sampled_from(WORDS[:3]), "content": st.text(max_size=9)}) | value
block = st.fixed_dictionaries(
    {"category": st.text(min_size=1, max_size=5), "data": value}, optional={"label": leaf, "priority": leaf}
)
extraction = st.fixed_dictionaries(
    {"source": st.text(max_size=9), "categories": st.lists(st.text(max_size=9), max_size=3)}, optional={"persist": leaf}
)
right = st.fixed_dictionaries(
    {"systemPrompt": st.text(min_size=1, max_size=9), "messages": st.lists(message, min_size=1, max_size=3)},
    optional={
        "supplementary": st.lists(block | value, max_size=3),
        "extraction": extraction | value,
        "json": st.booleans() | leaf,
        "temperature": leaf,
        "max_tokens": leaf,
    },
)
body = right | st.dictionaries(st.sampled_from(FIELDS), value, max_size=6)


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.metering.rate_limits._WINDOW_MS", 0)


def encoded(made: Any) -> bytes:
    return json.dumps(made).encode()


@pytest.mark.usefixtures("unlimited")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=body.map(encoded) | st.binary(max_size=60))
async def test_any_body(gateway: Box, content: bytes):
    answer = await gateway.http.post(COMPLETE, content=content)
    said = answer.json()
    if answer.status_code == 200:
        assert said["content"] == "Hello there."
    elif answer.status_code == 400:
        assert said.keys() == {"error"}
        assert said["error"]
    else:
        # The double's answer is no JSON object.
        assert (answer.status_code, said) == (500, {"error": "AI completion failed"})
        assert json.loads(content)["json"] is True
