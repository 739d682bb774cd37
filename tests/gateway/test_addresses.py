"""The address table of the specification, in both dialects, down to the certificate.

Source: model-addressing.md ("Prefixes", "Flags", "Composition", "Where the address shows up in a certificate",
"Errors specific to addressing"). There are no agents yet: every `agent:` address names none.
"""

from typing import Any

import httpx
import orjson
import pytest

from tests.box import CHAT, Box

PATHS = {"openai": CHAT, "anthropic": "/v1/messages"}

SENSITIVE = ("sensitive", "local", "sensitive=true -> local Ollama (data never leaves machine)")
FULL = ("agent", "full", "task=agent -> configured model (ollama/double)")
AUTO = ("simple", "fast", "task=simple -> fast model (ollama/double)")
PLAIN: dict[str, Any] = {"kind": "auto"}
CORTEX: dict[str, Any] = {"kind": "auto", "cortex": True}

SERVED = {
    "pulse-auto": (AUTO, PLAIN),
    "gpt-4o": (AUTO, PLAIN),
    "claude-sonnet-4-6": (AUTO, PLAIN),
    "my-model": (AUTO, PLAIN),
    "Pulse-Auto": (AUTO, PLAIN),
    "Pulse-Sensitive": (AUTO, PLAIN),
    "gpt-4o+cortex": (AUTO, CORTEX),
    "pulse-auto+cortex": (AUTO, CORTEX),
    "pulse-auto+Cortex": (AUTO, CORTEX),
    " pulse-auto + CORTEX ": (AUTO, CORTEX),
    "pulse-agent": (FULL, PLAIN),
    "gpt-4o+agent": (FULL, PLAIN),
    "pulse-agent+cortex": (FULL, CORTEX),
    "pulse-sensitive": (SENSITIVE, PLAIN),
    "pulse-auto+sensitive": (SENSITIVE, PLAIN),
    "pulse-agent+sensitive": (SENSITIVE, PLAIN),
    "pulse-sensitive+cortex": (SENSITIVE, CORTEX),
    "pulse-auto+sensitive+cortex": (SENSITIVE, CORTEX),
    "pulse-auto+cortex+sensitive": (SENSITIVE, CORTEX),
    "pulse-auto+cortx": (AUTO, PLAIN),
    "pulse-auto+nocortex+noknowledge+nomemory": (AUTO, PLAIN),
    "": (AUTO, PLAIN),
    "+cortex": (AUTO, CORTEX),
}
"""What the parser makes of each: the routing and the address of its certificate."""

REFUSED = {
    "agent:demo-cfo": (404, "model_not_found", "not_found_error"),
    "agent:Demo CFO": (404, "model_not_found", "not_found_error"),
    "agent:demo-cfo+nocortex+nomemory": (404, "model_not_found", "not_found_error"),
    "debate:board": (501, "address_not_supported", "invalid_request_error"),
    "debate:board+cortex": (501, "address_not_supported", "invalid_request_error"),
}


async def call(gateway: Box, dialect: str, model: str | None, stream: bool = False) -> httpx.Response:
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    return await gateway.http.post(
        PATHS[dialect], content=orjson.dumps(body if model is None else {"model": model, **body})
    )


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("model", SERVED)
async def test_an_address_that_is_served(gateway: Box, dialect: str, model: str, stream: bool):
    (task, tier, reason), address = SERVED[model]
    answer = await call(gateway, dialect, model, stream)
    assert answer.status_code == 200, answer.text
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["request"]["model"] == model
    assert said["request"]["endpoint"] == PATHS[dialect]
    assert said["address"] == address
    assert said["routing"] == {"taskType": task, "tier": tier, "reason": reason}
    assert said["egress"]["provider"] == "ollama"
    assert "grounding" not in said
    if not stream:
        assert answer.headers["x-pulse-provider"] == "ollama"
        assert answer.json()["model"] == "double"  # who answered, not what was sent


@pytest.mark.parametrize("dialect", PATHS)
async def test_no_model_at_all_is_pulse_auto(gateway: Box, dialect: str):
    said = await gateway.certificate((await call(gateway, dialect, None)).headers["x-pulse-proof"])
    assert (said["request"]["model"], said["address"]) == ("", PLAIN)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", REFUSED)
async def test_an_address_that_fails(gateway: Box, model: str, stream: bool):
    status, code, kind = REFUSED[model]
    answer = await call(gateway, "openai", model, stream)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    answer = await call(gateway, "anthropic", model, stream)
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    assert "x-pulse-proof" not in answer.headers


@pytest.mark.parametrize("dialect", PATHS)
async def test_the_same_prompt_is_the_same_task(gateway: Box, dialect: str):
    # synapse.md, "How the task is decided", by what both dialects can say.
    for characters, task in ((1996, "simple"), (1997, "complex")):
        body = {"max_tokens": 9, "messages": [{"role": "user", "content": "x" * characters}]}
        answer = await gateway.http.post(PATHS[dialect], content=orjson.dumps(body))
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert said["routing"]["taskType"] == task


IDS = ("pulse-auto", "pulse-sensitive", "pulse-agent", "double")
VERSIONED = {"anthropic-version": "2023-06-01"}


class TestModels:
    """model-addressing.md ("Discover addresses"); dialects.md §1.2."""

    async def test_the_same_ids_in_the_shape_of_each_dialect(self, gateway: Box):
        openai = (await gateway.http.get("/v1/models")).json()
        anthropic = (await gateway.http.get("/v1/models?limit=1000", headers=VERSIONED)).json()
        assert [one["id"] for one in openai["data"]] == [*IDS]
        assert [one["id"] for one in anthropic["data"]] == [*IDS]
        assert openai["object"] == "list"
        assert (anthropic["has_more"], anthropic["first_id"], anthropic["last_id"]) == (False, "pulse-auto", "double")
        assert {one["type"] for one in anthropic["data"]} == {"model"}

    async def test_page_by_page(self, gateway: Box):
        first = (await gateway.http.get("/v1/models?limit=3", headers=VERSIONED)).json()
        assert (first["has_more"], first["last_id"]) == (True, "pulse-agent")
        rest = (await gateway.http.get("/v1/models?limit=3&after_id=pulse-agent", headers=VERSIONED)).json()
        assert ([one["id"] for one in rest["data"]], rest["has_more"]) == (["double"], False)

    @pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "after_id=none", "before_id=none"])
    async def test_what_is_no_page(self, gateway: Box, query: str):
        answer = await gateway.http.get(f"/v1/models?{query}", headers=VERSIONED)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")

    async def test_one_of_them(self, gateway: Box):
        one = (await gateway.http.get("/v1/models/pulse-auto", headers=VERSIONED)).json()
        assert (one["type"], one["id"]) == ("model", "pulse-auto")
        none = await gateway.http.get("/v1/models/claude-none", headers=VERSIONED)
        assert (none.status_code, none.json()["error"]["type"]) == (404, "not_found_error")
