import ipaddress
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.cluster.interfaces import Interface, Link
from appliance.doctor import network
from appliance.doctor.facts import PortFacts
from tests.netns import ROOT, Lan, lan, need_netns

# The form of /proc/net/tcp (proc(5)): 0x2253 is 8787, state 0A listens, the tenth field is the inode.
TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:2253 00000000:0000 0A 00000000:00000000 00:00000000 00000000   990        0 4711 1 0 100 0 0 10 0
   1: 0100007F:2253 0100007F:C3A2 01 00000000:00000000 00:00000000 00000000   990        0 4712 1 0 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
   3: broken
"""


@pytest.mark.parametrize(
    ("kind", "port", "inodes"),
    [("tcp", 8787, {"4711"}), ("udp", 8787, {"4711", "4712"}), ("tcp", 22, {"4713"}), ("tcp", 80, set[str]())],
)
def test_which_sockets_have_a_port(kind: str, port: int, inodes: set[str]):
    assert network.inodes_of(TABLE, kind, port) == inodes


class TestGatewayPort:
    def test_free_and_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            found = network.gateway_port("127.0.0.1", port)
            assert found.problem == "address already in use"
            assert found.holder.endswith(f"(process {os.getpid()})")
        assert network.gateway_port("127.0.0.1", port) == PortFacts("127.0.0.1", port)

    def test_an_address_of_another_machine_or_none(self):
        assert network.gateway_port("192.0.2.1", 0).problem == "cannot assign requested address"
        assert "not known" in (network.gateway_port("no.such.host.invalid", 0).problem or "")

    def test_where_the_system_does_not_tell_who(self, tmp_path: Path):
        assert network.holder("tcp", 8787, tmp_path) == ""
        (tmp_path / "net").mkdir()
        (tmp_path / "net" / "tcp").write_text(TABLE)
        assert network.holder("tcp", 8787, tmp_path) == ""
        (tmp_path / "77" / "fd").mkdir(parents=True)
        (tmp_path / "77" / "comm").write_text("nginx\n")
        (tmp_path / "77" / "fd" / "3").symlink_to("socket:[4711]")
        assert network.holder("tcp", 8787, tmp_path) == "nginx (process 77)"


class TestMdns:
    def test_switched_off_nothing_is_tried(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(network, "read_links", lambda: pytest.fail("it was read"))
        assert not network.mdns(enabled=False, wanted=()).enabled

    def test_a_port_that_is_not_shared(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as alone:
            alone.bind(("", 0))
            found = network.mdns(enabled=True, wanted=("nosuch0",), port=alone.getsockname()[1])
        assert (found.problem, found.chosen) == ("address already in use", ())
        assert found.holder.endswith(f"(process {os.getpid()})")

    def test_a_port_that_is_shared(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("", 0))
            assert network.mdns(enabled=True, wanted=("nosuch0",), port=other.getsockname()[1]).problem is None

    def test_where_the_interfaces_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch):
        def fails() -> tuple[Interface, ...]:
            raise OSError

        monkeypatch.setattr(network, "read_links", fails)
        assert network.mdns(enabled=True, wanted=(), port=0).chosen == ()


@pytest.fixture(scope="module")
def site() -> Iterator[Lan]:
    need_netns()
    with lan("gateway") as made:
        yield made


LOOK = "from appliance.doctor import network; print(network.mdns(enabled=True, wanted=()))"


def looked(site: Lan) -> str:
    command = site.inside("gateway", [sys.executable, "-c", LOOK])
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, cwd=ROOT).stdout


def test_on_a_network_what_is_sent_comes_back(site: Lan):
    assert "chosen=('eth0',), problem=None, holder='', silent=())" in looked(site)


class Blocked(socket.socket):
    """What a firewall makes of a socket: `refuses` what is sent, or lets nothing of it come back."""

    refuses = False

    def sendto(self, *given: Any) -> int:
        if self.refuses:
            raise PermissionError(1, "Operation not permitted")
        return len(given[0])


@pytest.mark.parametrize("refuses", [True, False])
def test_where_something_blocks_it_the_interface_is_named(monkeypatch: pytest.MonkeyPatch, refuses: bool):
    lan = Link("lo", (ipaddress.ip_interface("127.0.0.1/8"), ipaddress.ip_interface("192.168.1.5/24")))
    loopback = Interface("eth0", (ipaddress.ip_interface("127.0.0.1/8"),))
    monkeypatch.setattr(network, "read_links", lambda: (lan,))
    monkeypatch.setattr(network, "choose", lambda *_: (loopback,))
    monkeypatch.setattr(network, "ECHO_SECONDS", 0.05)
    monkeypatch.setattr(network.socket, "socket", Blocked)
    monkeypatch.setattr(Blocked, "refuses", refuses)
    assert network.mdns(enabled=True, wanted=(), port=0).silent == ("eth0",)


def test_what_others_say_meanwhile_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(network, "ECHO_SECONDS", 0.05)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        ours.bind(("127.0.0.1", 0))
        other.sendto(b"something else", ours.getsockname())
        other.sendto(network._QUESTION, ours.getsockname())
        assert network._heard(ours, "127.0.0.1")
        other.sendto(network._QUESTION, ours.getsockname())
        other.sendto(b"something else", ours.getsockname())
        assert not network._heard(ours, "192.0.2.1")
