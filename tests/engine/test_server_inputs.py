"""Bodies of every route with any JSON value in any field: whatever is wrong with them, somebody thought of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from appliance.engine.llama import End, Piece
from appliance.engine.server import Front
from tests.engine.played import make_desk

END = End("stop", "", 3, 1000, 2, 2000)
FIELDS = {
    "/api/chat": "model messages tools format options stream keep_alive think truncate logprobs top_logprobs",
    "/api/generate": "model prompt system suffix template context raw images format options stream keep_alive think",
    "/api/embed": "model input truncate dimensions keep_alive options",
    "/api/embeddings": "model prompt keep_alive options",
    "/api/show": "model name verbose",
}
MODELS = {"/api/embed": "vectors", "/api/embeddings": "vectors"}
WORDS = st.sampled_from(
    [
        *(
            "role",
            "content",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "parameters",
            "user",
            "tool",
            "stop",
            "seed",
        ),
        *("type", "properties", "required", "items", "anyOf", "allOf", "enum", "const", "$ref", "$defs", "minimum"),
        *("maxLength", "minItems", "format", "additionalProperties", "object", "string", "json", "#", "#/a/9"),
        *("num_predict", "temperature"),
    ]
)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
) | (WORDS | st.text(max_size=5))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    desk = await make_desk(tmp_path, tools="tagged")
    desk.runner.script = [Piece("a"), END]
    front = Front(desk.shelf, version="1", clock=desk.clock)
    host, port = await front.open("127.0.0.1", 0)
    yield f"http://{host}:{port}"
    await front.close()
    await desk.shelf.close()


@pytest.mark.parametrize("path", FIELDS)
async def test_no_value_is_an_internal_error(address: str, path: str):
    usual = {"model": MODELS.get(path, "tiny"), "messages": [{"role": "user", "content": "Hi"}], "prompt": "Hi"}
    bodies: list[bytes] = []

    @given(st.dictionaries(st.sampled_from(FIELDS[path].split()), VALUES, min_size=1, max_size=3))
    @settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def collect(fields: dict[str, object]) -> None:
        bodies.append(json.dumps(usual | fields).encode())

    await asyncio.to_thread(collect)
    async with aiohttp.ClientSession(address) as session:
        for body in bodies:
            async with session.post(path, data=body) as response:
                text = await response.text()
                assert "internal error" not in text, body
                assert response.status in (200, 400, 404, 500, 501), body
