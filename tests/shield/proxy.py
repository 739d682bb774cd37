"""A gateway of nothing but the shield, for tests: masks a Chat Completions body, sends it on, restores the answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from appliance.dialects.jsontext import JsonText
from appliance.dialects.openai.structure import is_text
from appliance.shield.cache import FindingsCache
from appliance.shield.categories import Mode
from appliance.shield.detect import Detector
from appliance.shield.mask import mask
from appliance.shield.restore import restore
from appliance.shield.scanner import Scanner
from appliance.shield.streams import Restorer
from appliance.shield.vault import Vault

KEY = b"k" * 32


class ShieldProxy:
    def __init__(self, upstream: str, mode: Mode) -> None:
        self._upstream = upstream
        self._scanner = Scanner(Detector(mode), FindingsCache(KEY))
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        document = JsonText.read((await request.read()).decode(), is_text)
        texts = list(document.texts)
        masked = mask(texts, await self._scanner.scan(texts), key=KEY)
        headers = {"Content-Type": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"{self._upstream}/chat/completions", data=document.with_texts(masked.texts), headers=headers
            ) as answer,
        ):
            if answer.content_type == "text/event-stream":
                return await self._stream(request, answer, masked.vault)
            body = orjson.loads(await answer.read())
            for choice in body["choices"]:
                choice["message"]["content"] = restore(choice["message"]["content"], masked.vault)
            return web.json_response(body, status=answer.status)

    async def _stream(self, request: web.Request, answer: aiohttp.ClientResponse, vault: Vault) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        restorer = Restorer(vault)
        async for line in answer.content:
            data = line.strip().removeprefix(b"data: ")
            if data == b"[DONE]":
                await response.write(_event({"choices": [{"index": 0, "delta": {"content": restorer.flush()}}]}))
                await response.write(b"data: [DONE]\n\n")
            elif data:
                chunk = orjson.loads(data)
                for choice in chunk["choices"]:
                    if choice["delta"].get("content"):
                        choice["delta"]["content"] = restorer.feed(choice["delta"]["content"])
                await response.write(_event(chunk))
        await response.write_eof()
        return response


def _event(chunk: Any) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


@asynccontextmanager
async def shield_proxy(upstream: str, mode: Mode) -> AsyncIterator[ShieldProxy]:
    """`upstream` is a base URL that ends in `/v1`."""
    proxy = ShieldProxy(upstream, mode)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", proxy.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield proxy
    finally:
        await runner.cleanup()
