"""How interfaces come and go, between network namespaces. What goes wrong is logged once, and ends nothing."""

from collections.abc import Iterator

import pytest

from tests.cluster.mdns import Peer, node_id, peers
from tests.netns import Lan, lan
from tests.waiting import wait_until


@pytest.fixture
def net() -> Iterator[Lan]:
    with lan("gw", "a") as made:
        yield made


def problem(peer: Peer) -> str | None:
    """What it says now is wrong with its discovery."""
    peer.do("measure")
    return next(line["problem"] for line in reversed(peer.said) if "problem" in line)


def test_a_machine_whose_cable_was_out_announces_itself_when_it_is_in(net: Lan):
    with peers(net, "gw", "a") as (gateway, a):
        gateway.do("discover")
        net.unplug("a")
        a.announce("a")
        wait_until(lambda: a.logged() == ["appliance.cluster.lans: announcing: there is no network interface for it"])
        net.restore("a")
        wait_until(lambda: gateway.ids() == {node_id("a")})
        # And the same where it is the gateway's.
        net.unplug("gw")
        wait_until(lambda: not gateway.heard())
        net.restore("gw")
        wait_until(lambda: gateway.ids() == {node_id("a")})
        assert len(a.logged()) == 1


def test_where_the_port_belongs_to_a_program_that_does_not_share_it_that_is_logged_once(net: Lan):
    with peers(net, "gw", "a", "a") as (gateway, a, other):
        gateway.do("discover")
        other.do("hold")
        a.announce("a")
        a.do("discover")
        wait_until(lambda: len([line for line in a.logged() if line.startswith("appliance")]) == 2)
        assert problem(a) == "it does not work on eth0: Address already in use"
        other.do("release")
        wait_until(lambda: gateway.ids() == {node_id("a")})
        gateway.announce("gateway")
        wait_until(lambda: a.ids() == {node_id("gateway")})
        assert problem(a) is None
        assert sorted(line for line in a.logged() if line.startswith("appliance")) == [
            "appliance.cluster.lans: announcing: it does not work on eth0: Address already in use",
            "appliance.cluster.lans: discovery: it does not work on eth0: Address already in use",
        ]


def test_where_there_is_no_ipv4_it_works_over_ipv6(net: Lan):
    for host in ("gw", "a"):
        net.forget4(host)
    with peers(net, "gw", "a") as (gateway, a):
        gateway.do("discover")
        a.announce("a")
        wait_until(lambda: (found := gateway.of("a")) is not None and found["addresses"] == [net.ip6("a")])
