"""Listens in between a client and the gateway: every byte goes on as it came, and what was asked can be told."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

REQUEST = re.compile(rb"([A-Z]{3,7}) (/\S*) HTTP/1\.1\r\n")  # no JSON holds a bare CR LF
STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")


@dataclass
class Tap:
    url: str = ""
    connections: list[tuple[bytearray, bytearray]] = field(default_factory=list[tuple[bytearray, bytearray]])
    """What the client sent and what it got, on each."""

    @property
    def asked(self) -> list[str]:
        """Each request with the status of its answer, `POST /v1/messages 200`; 0 stands for none."""
        said: list[str] = []
        for sent, got in self.connections:
            statuses = [match[1].decode() for match in STATUS.finditer(got)]
            for i, (method, path) in enumerate(REQUEST.findall(sent)):
                said.append(f"{method.decode()} {path.decode()} {statuses[i] if i < len(statuses) else 0}")
        return said

    @property
    def sent(self) -> bytes:
        return b"".join(bytes(sent) for sent, _ in self.connections)


@asynccontextmanager
async def tapped(port: int) -> AsyncIterator[Tap]:
    """A tap before this port of loopback, until the block is left."""
    tap = Tap()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        sent, got = bytearray(), bytearray()
        tap.connections.append((sent, got))
        try:
            await asyncio.gather(_pass_on(reader, back, sent), _pass_on(there, writer, got))
        finally:
            writer.close()
            back.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve(reader, writer))
        serving.add(task)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    tap.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield tap
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray) -> None:
    """Until one side has no more to say; that the other has gone is no fault of the tap's."""
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            kept += data
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
