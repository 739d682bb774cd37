"""What a machine says of itself, between network namespaces (cluster.md, "What mDNS is for")."""

from collections.abc import Iterator

import pytest

from tests.cluster.mdns import GATEWAY, Peer, announcement, instance, node_id, peers
from tests.netns import Lan, lan
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def net() -> Iterator[Lan]:
    with lan("gw", "a", "twin") as made:
        yield made


@pytest.fixture
def machines(net: Lan) -> Iterator[list[Peer]]:
    with peers(net, "gw", "a", "twin") as made:
        yield made


def test_a_gateway_is_found_under_its_name_with_its_own_addresses_and_what_it_says(net: Lan, machines: list[Peer]):
    gateway, a, _ = machines
    name, said = instance("gateway"), {"txtvers": "1", "id": node_id("gateway")}
    gateway.do(
        "announce", kind=GATEWAY, instance=name, port=8787, properties={"txtvers": "1", "id": node_id("gateway")}
    )
    a.do("look", kind=GATEWAY, name=f"{name}.{GATEWAY}")
    assert next(line["found"] for line in a.said if "found" in line) == [
        f"{name}.local.",
        8787,
        [net.address("gw"), net.ip6("gw")],
        said,
    ]


def test_what_it_says_of_itself_changes_without_a_goodbye(machines: list[Peer]):
    gateway, a, _ = machines
    gateway.do("discover")
    a.announce("a")
    wait_until(lambda: gateway.of("a") is not None)
    since = len(gateway.said)
    a.announce("a", st="claimed")
    wait_until(lambda: (found := gateway.of("a")) is not None and found["claimed"])
    assert all(line["heard"] for line in gateway.said[since:] if "heard" in line)


def test_another_instance_takes_the_place_of_the_one_before(machines: list[Peer]):
    gateway, a, _ = machines
    gateway.do("discover")
    a.announce("before")
    wait_until(lambda: gateway.ids() == {node_id("before")})
    a.announce("after")
    wait_until(lambda: gateway.ids() == {node_id("after")})


def test_it_is_all_said_once_more_later(net: Lan, machines: list[Peer]):
    """Three times is what the library says it, in half a second (RFC 6762, 8.3, wants a second between two)."""
    _, a, other = machines
    other.do("sniff", address=net.address("twin"))
    a.announce("a")
    wait_until(lambda: sum(line.get("sender") == net.address("a") for line in other.said) == 6)


def test_a_twin_is_logged_once_and_silences_nobody(net: Lan, machines: list[Peer]):
    gateway, a, twin = machines
    gateway.do("discover")
    a.announce("a")
    twin.announce("a")
    wait_until(lambda: bool(a.logged()))
    twin.do("send", packets=[announcement("a", net.free(99))], address=net.address("twin"))
    wait_until(lambda: (found := gateway.of("a")) is not None and net.address("a") in found["addresses"])
    warning = f"on eth0 another machine calls itself {instance('a')}: a copy of this one's key, or a forgery"
    assert a.logged() == [f"appliance.cluster.announcing: {warning}"]
    twin.do("goodbye")


def test_a_machine_on_two_interfaces_of_one_lan_is_no_twin_of_itself():
    with lan("gw", "a", "a") as net, peers(net, "gw", "a") as (gateway, a):
        gateway.do("discover")
        a.announce("a")
        wait_until(lambda: gateway.of("a") is not None)
        a.do("goodbye")
        assert a.logged() == []
