"""What a flood of announcements may cost, between network namespaces."""

import ipaddress
from collections.abc import Iterator

import pytest
from zeroconf import DNSIncoming
from zeroconf.asyncio import AsyncZeroconf

from appliance.cluster.interfaces import Interface
from appliance.cluster.listening import MAX_NEW_NAMES, MAX_QUESTIONS, MAX_SERVICES, Ear
from appliance.tasks import Tasks
from tests.cluster.mdns import NODE, Peer, announcement, node_id, packet, peers, pointer
from tests.netns import Lan, lan
from tests.waiting import until, wait_until

FLOOD = 3 * MAX_NEW_NAMES


@pytest.fixture(scope="module")
def net() -> Iterator[Lan]:
    with lan("gw", "a", "evil") as made:
        yield made


@pytest.fixture
def machines(net: Lan) -> Iterator[list[Peer]]:
    with peers(net, "gw", "a", "evil") as made:
        made[0].do("discover")
        made[1].announce("kept")
        wait_until(lambda: made[0].ids() == {node_id("kept")})
        made[0].do("keep", keys=[node_id("kept")])
        yield made


async def test_a_browser_that_has_heard_of_too_many_names_is_replaced():
    """It remembers every name until that name's own end, which is years away if somebody says so."""
    interface = Interface("lo", (ipaddress.ip_interface("10.0.0.1/8"),))
    tasks = Tasks()
    async with AsyncZeroconf(interfaces=["127.0.0.1"]) as opened:
        zc = opened.zeroconf
        ear = Ear(interface, own=lambda: (), kept=lambda: (), changed=lambda: None)
        tasks.spawn("ear", ear.listen(zc))
        await until(lambda: bool(zc.listeners))
        first = set(zc.listeners)
        for n in range(MAX_NEW_NAMES):
            heard = bytes.fromhex(announcement(f"name{n}", f"10.1.{n // 250}.{n % 250}"))
            zc.record_manager.async_updates_from_response(DNSIncoming(heard))
        await until(lambda: bool(zc.listeners) and not first & zc.listeners)
        assert len(ear.sightings()) == MAX_SERVICES
        assert len(zc.cache.async_entries_with_name(NODE)) == MAX_SERVICES
        await tasks.cancel()


def flood(gateway: Peer, evil: Peer, packets: list[str], address: str) -> None:
    """It costs the gateway little."""
    gateway.do("measure")
    # In parts, since a socket's buffer holds some hundred datagrams and the rest is lost.
    for part in range(0, len(packets), 200):
        evil.do("send", packets=packets[part : part + 200], address=address)
        gateway.do("measure")
    measured = [line for line in gateway.said if "peak" in line]
    assert measured[-1]["peak"] - measured[0]["peak"] < 32 * 1024
    assert max(line["tasks"] for line in measured) < 10 + MAX_QUESTIONS


def test_a_flood_of_whole_announcements_costs_little_and_pushes_out_nobody_who_is_kept(net: Lan, machines: list[Peer]):
    gateway, a, evil = machines
    packets = [announcement(f"forged{n}", net.free(100 + n % 100)) for n in range(FLOOD)]
    flood(gateway, evil, packets, net.address("evil"))
    wait_until(lambda: len(gateway.heard()) > MAX_SERVICES // 2)
    assert all(len(line["heard"]) <= MAX_SERVICES for line in gateway.said if "heard" in line)
    assert node_id("kept") in gateway.ids()
    # It still hears who is new.
    a.announce("new")
    wait_until(lambda: node_id("new") in gateway.ids())


def test_a_flood_of_names_with_nothing_behind_them_asks_few_questions_and_hides_nobody(net: Lan, machines: list[Peer]):
    gateway, a, evil = machines
    packets = [packet(*(pointer(f"empty{n}") for n in range(first, first + 10))) for first in range(0, FLOOD, 10)]
    flood(gateway, evil, packets, net.address("evil"))
    a.announce("kept", st="claimed")
    wait_until(lambda: (found := gateway.of("kept")) is not None and found["claimed"])
    assert gateway.ids() == {node_id("kept")}
