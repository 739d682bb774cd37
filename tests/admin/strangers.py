"""Sockets where somebody answers who is no daemon that we know."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def answering(path: Path, answer: bytes) -> AsyncIterator[Path]:
    """Every request gets these bytes, and nothing after them."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_unix_server(one, path)
    yield path
    server.close()
    await server.wait_closed()
