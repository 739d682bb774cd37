"""One machine of a test, as a process in its namespace: does what lines of JSON on stdin say, and tells what it sees.

Runs on the event loop of the daemon. Ends, with its goodbyes said, when stdin does.
"""

import asyncio
import json
import logging
import resource
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import uvloop
from zeroconf.asyncio import AsyncZeroconf

from appliance.cluster.announcing import Announcer, Service
from appliance.cluster.discovery import Discovery

GROUP, PORT = "224.0.0.251", 5353


def tell(**what: object) -> None:
    print(json.dumps({"at": time.monotonic(), **what}), flush=True)


class Logged(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        tell(log=f"{record.name}: {record.getMessage()}")


class Peer:
    def __init__(self) -> None:
        self.announcer: Announcer | None = None
        self.discovery: Discovery | None = None
        self.holder: socket.socket | None = None

    async def announce(
        self, kind: str, instance: str, port: int, properties: dict[str, str], interfaces: Sequence[str] = ()
    ) -> None:
        service = Service(kind, instance, port, properties)
        if self.announcer is None:
            self.announcer = Announcer(service, interfaces=tuple(interfaces), seconds=0.2)
            await self.announcer.start()
        else:
            await self.announcer.update(service)

    async def goodbye(self) -> None:
        if self.announcer is not None:
            await self.announcer.stop()
            self.announcer = None

    async def discover(self, *, interfaces: Sequence[str] = (), refresh: float = 30.0) -> None:
        self.discovery = Discovery(interfaces=tuple(interfaces), changed=self.heard, seconds=0.2, refresh=refresh)
        await self.discovery.start()

    def heard(self) -> None:
        assert self.discovery is not None
        tell(heard=[{**asdict(one), "key": one.key} for one in self.discovery.snapshot()])

    async def keep(self, keys: list[str]) -> None:
        assert self.discovery is not None
        self.discovery.keep(keys)

    async def deaf(self) -> None:
        assert self.discovery is not None
        await self.discovery.stop()
        self.discovery = None

    async def send(self, packets: list[str], address: str) -> None:
        """These datagrams, in hexadecimal, as mDNS from this address."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sender.bind((address, PORT))
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
            for packet in packets:
                sender.sendto(bytes.fromhex(packet), (GROUP, PORT))

    async def look(self, kind: str, name: str) -> None:
        """What is announced under this name, as the library finds it by itself."""
        async with AsyncZeroconf() as zeroconf:
            found = await zeroconf.async_get_service_info(kind, name)
        assert found is not None
        tell(found=[found.server, found.port, sorted(found.parsed_addresses()), found.decoded_properties])

    async def hold(self) -> None:
        """Take mDNS's port for itself alone."""
        self.holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.holder.bind(("", PORT))

    async def release(self) -> None:
        assert self.holder is not None
        self.holder.close()

    async def sniff(self, address: str) -> None:
        """Tell of every mDNS datagram that comes in by the interface of this address."""
        self.holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind((GROUP, PORT))
        self.holder.setsockopt(
            socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + socket.inet_aton(address)
        )
        self.holder.setblocking(False)
        asyncio.get_running_loop().add_reader(self.holder, self.came)

    def came(self) -> None:
        assert self.holder is not None
        tell(sender=self.holder.recvfrom(9000)[1][0])

    async def measure(self) -> None:
        """This process's peak of memory in KiB, its tasks, and what is wrong with its discovery."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tell(peak=peak, tasks=len(asyncio.all_tasks()), problem=self.discovery and self.discovery.problem)


async def main() -> None:
    logging.getLogger().addHandler(Logged())
    peer = Peer()
    lines = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tell(done="start")
    while line := await lines.readline():
        asked: dict[str, Any] = json.loads(line)
        await getattr(peer, asked.pop("do"))(**asked)
        tell(done=line.decode()[:40])
    for part in (peer.announcer, peer.discovery):
        if part is not None:
            await part.stop()
    tell(done="end")


if __name__ == "__main__":
    uvloop.run(main())
