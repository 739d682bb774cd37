"""Sends a backup as it is made, and gives up making it when its client leaves. Knows nothing of what is in it."""

import asyncio
from contextlib import AbstractAsyncContextManager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from appliance.admin.backups import Outgoing


class BackupResponse(Response):
    """What cannot be made raises before the answer has begun, as any operation does."""

    def __init__(self, made: AbstractAsyncContextManager[Outgoing]) -> None:
        super().__init__()
        self._made = made

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        work = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in (work, gone):
                one.cancel()
            await asyncio.wait({work, gone})
        if not work.cancelled():
            work.result()

    async def _send(self, send: Send) -> None:
        async with self._made as outgoing:
            headers = [
                (b"content-type", b"application/octet-stream"),
                (b"content-length", str(outgoing.size).encode()),
                (b"cache-control", b"no-store"),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async for piece in outgoing.pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
