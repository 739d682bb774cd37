"""Machines that speak mDNS in the namespaces of a test, and packets made by hand, as no honest program sends them."""

import base64
import hashlib
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.netns import Lan
from tests.waiting import wait_until

NODE, OLLAMA, GATEWAY = "_synapse-node._tcp.local.", "_ollama._tcp.local.", "_synapse._tcp.local."


def node_id(seed: str) -> str:
    """The id of a node whose key hashes to that of `seed`: 52 characters of base32. An id stands for itself."""
    if len(seed) == 52:
        return seed
    return base64.b32encode(hashlib.sha256(seed.encode()).digest()).decode().rstrip("=").lower()


def instance(seed: str) -> str:
    return f"syn-{node_id(seed)[:16]}"


def txt(seed: str, **other: str) -> dict[str, str]:
    """What a node says of itself (cluster.md, "What mDNS is for")."""
    return {"txtvers": "1", "proto": "1", "id": node_id(seed), "st": "open", "jp": "11436", "api": "ollama", **other}


@contextmanager
def peers(net: Lan, *hosts: str) -> Iterator[list["Peer"]]:
    """One on each of these hosts."""
    made = [Peer(net, host) for host in hosts]
    for peer in made:
        peer.ready()
    yield made
    for peer in made:
        peer.close()


class Peer:
    """A process that speaks mDNS in a namespace. What it says is in `said`, in order."""

    def __init__(self, net: Lan, host: str) -> None:
        command = [sys.executable, "-m", "tests.cluster.mdns_peer"]
        self.process = net.popen(host, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.said: list[dict[str, Any]] = []
        self._asked = 1
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def ask(self, what: str, **how: Any) -> float:
        """Tell it to do this; the moment of that, on the clock that all processes of this machine have."""
        assert self.process.stdin is not None
        at = time.monotonic()
        self._asked += 1
        self.process.stdin.write(json.dumps({"do": what, **how}) + "\n")
        self.process.stdin.flush()
        return at

    def ready(self) -> None:
        """Wait until it has done all that it was told to do, which begins with its start."""
        wait_until(lambda: self._done() >= self._asked or self.process.poll() is not None)
        assert self._done() >= self._asked, "it ended"

    def do(self, what: str, **how: Any) -> float:
        """`ask`, and wait until it is done."""
        at = self.ask(what, **how)
        self.ready()
        return at

    def announce(self, seed: str, *, port: int = 11435, interfaces: Sequence[str] = (), **other: str) -> float:
        """`other`: what the TXT record says otherwise."""
        properties = txt(seed, **other)
        how = {"kind": NODE, "instance": instance(seed), "port": port, "interfaces": interfaces}
        return self.do("announce", properties=properties, **how)

    def heard(self) -> list[dict[str, Any]]:
        """The newest snapshot."""
        return next((line["heard"] for line in reversed(self.said) if "heard" in line), [])

    def ids(self) -> set[str]:
        return {one["id"] for one in self.heard()}

    def of(self, seed: str) -> dict[str, Any] | None:
        """How a node was heard, on the first of its interfaces."""
        return next((one for one in self.heard() if one["id"] == node_id(seed)), None)

    def logged(self) -> list[str]:
        return [line["log"] for line in self.said if "log" in line]

    def first(self, true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first line of this kind, which may be to come."""
        wait_until(lambda: any(true(line) for line in self.said))
        return next(line for line in self.said if true(line))

    def close(self) -> None:
        """Let it end by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(10) == 0
        self._reader.join(10)

    def kill(self) -> None:
        """As a power cut does it, or `kill -9`."""
        self.process.kill()
        self.process.wait(10)
        self._reader.join(10)

    def _done(self) -> int:
        return sum("done" in line for line in self.said)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(json.loads(line))


def packet(*records: bytes) -> str:
    """An answer with these records (RFC 6762, 18), in hexadecimal."""
    return (struct.pack("!6H", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)).hex()


def pointer(seed: str, *, type_: str = NODE, ttl: int = 4500) -> bytes:
    return _record(type_, 12, ttl, _name(f"{instance(seed)}.{type_}"), unique=False)


def announcement(
    seed: str, address: str, *, ttl: int = 120, port: int = 11435, said: dict[str, str] | None = None
) -> str:
    """A whole one of a node that is at this address. `ttl` is that of its host."""
    name, host = f"{instance(seed)}.{NODE}", f"{instance(seed)}.local."
    strings = [f"{key}={value}".encode() for key, value in (said or txt(seed)).items()]
    text = b"".join(bytes([len(one)]) + one for one in strings)
    return packet(
        pointer(seed),
        _record(name, 33, ttl, struct.pack("!3H", 0, 0, port) + _name(host)),
        _record(name, 16, 4500, text),
        _record(host, 1, ttl, socket.inet_aton(address)),
    )


def goodbye(seed: str) -> str:
    """What anybody can say of anybody (RFC 6762, 10.1)."""
    return packet(pointer(seed, ttl=0))


def _record(name: str, type_: int, ttl: int, data: bytes, *, unique: bool = True) -> bytes:
    return _name(name) + struct.pack("!2HIH", type_, 0x8001 if unique else 1, ttl, len(data)) + data


def _name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split(".")) + b"\0"
