"""Every recorded first request of a real client, sent as it was sent, is answered as that client expects.

The recordings are read in place. What is not served yet is answered with what to do instead.
"""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from tests.box import Box, box
from tests.upstreams.ollama import done, line, ollama_double, says

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings" / "clients"

NOT_SERVED = ("/v1/responses", "/v1/embeddings")

FILLER = b"lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labor"
PICTURE = b64encode(b"\x89PNG\r\n\x1a\n")
"""Long texts were replaced when the requests were recorded, a picture's base64 among them."""


def recorded() -> list[Any]:
    return [pytest.param(json.loads(path.read_text()), id=path.stem) for path in sorted(RECORDINGS.glob("*.json"))] or [
        pytest.param(None, marks=pytest.mark.skip(reason="the recordings of real clients are not on this machine"))
    ]


def fitting(schema: Any) -> Any:
    """The least that fits a schema."""
    if not isinstance(schema, dict):
        return {}
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return fitting(schema["anyOf"][0])
    if "$ref" in schema or schema.get("type", "object") == "object":
        return {name: fitting(each) for name, each in schema.get("properties", {}).items()}
    return {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": []}.get(schema["type"])


async def sensible(request: web.Request) -> web.StreamResponse:
    """Answers in the form that is asked for."""
    form = (await request.json()).get("format")
    text = "Hello." if form is None else json.dumps(fitting(form))
    return await says(line(text), done())(request)


@pytest.fixture
async def able(tmp_path: Path) -> AsyncIterator[Box]:
    capabilities = ["completion", "tools", "vision", "thinking"]
    async with (
        ollama_double(default=sensible, capabilities=capabilities, loaded_context=200_000) as ollama,
        box(tmp_path / "state", ollama.url) as made,
    ):
        yield made


@pytest.mark.parametrize("sent", recorded())
async def test_it_is_answered(able: Box, sent: Any):
    headers = {
        name.lower(): value
        for name, value in sent["headers"]
        if name.lower() not in ("authorization", "x-api-key", "host", "content-length", "connection")
    }
    url = sent["path"] + (f"?{sent['query']}" if sent["query"] else "")
    content = orjson.dumps(sent["body"]) if sent["body"] is not None else b""
    content = content.replace(b'"data":"%b"' % FILLER, b'"data":"%b"' % PICTURE)
    answer = await able.http.request(sent["method"], url, content=content, headers=headers)
    if sent["path"] in NOT_SERVED:
        assert answer.status_code == 404
        assert "not served by this version" in answer.json()["error"]["message"]
        return
    assert answer.status_code == 200, answer.text
    anthropic = "anthropic-version" in headers
    if sent["method"] == "HEAD":
        assert answer.content == b""
    elif sent["path"] == "/v1/models":
        assert answer.json()["data"][0].get("object" if not anthropic else "type") == "model"
    elif sent["path"].endswith("/count_tokens"):
        assert answer.json()["input_tokens"] > 0
    elif not sent["body"].get("stream"):
        assert answer.json().get("type" if anthropic else "object") == ("message" if anthropic else "chat.completion")
    elif anthropic:
        assert answer.text.rstrip().endswith('data: {"type":"message_stop"}')
    else:
        assert answer.text.endswith("data: [DONE]\n\n")
