"""What machines announce, between network namespaces. Source of the rules: cluster.md, "What mDNS is for"."""

import statistics
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.mdns import OLLAMA, Peer, announcement, goodbye, instance, node_id, peers
from tests.netns import Lan, lan
from tests.waiting import wait_until


def ids(line: dict[str, Any]) -> set[str]:
    return {one["id"] for one in line.get("heard", ())}


@pytest.fixture(scope="module")
def net() -> Iterator[Lan]:
    with lan("gw", "a", "b", "evil") as made:
        yield made


@pytest.fixture(scope="module")
def processes(net: Lan) -> Iterator[list[Peer]]:
    with peers(net, "gw", "a", "b", "evil") as made:
        yield made


@pytest.fixture
def machines(processes: list[Peer]) -> Iterator[list[Peer]]:
    """The gateway, two nodes, and a machine of somebody who means harm."""
    gateway, a, b, _ = processes
    gateway.do("discover", refresh=0.3)
    yield processes
    say_goodbye(a, b)
    gateway.do("deaf")


def say_goodbye(*peers: Peer) -> None:
    """All at once: it takes each a quarter of a second."""
    for peer in peers:
        peer.ask("goodbye")
    for peer in peers:
        peer.ready()


def seeds(gateway: Peer, *of: str) -> set[str]:
    """Those of these nodes that the gateway hears."""
    return {seed for seed in of if node_id(seed) in gateway.ids()}


def listens(gateway: Peer, other: Peer) -> None:
    """From here on the gateway hears what is said once only."""
    other.announce("listens")
    wait_until(lambda: node_id("listens") in gateway.ids())


def test_two_nodes_are_seen_in_less_than_two_seconds_and_gone_with_their_goodbyes(net: Lan, machines: list[Peer]):
    gateway, a, b, _ = machines
    took: list[float] = []
    for n in range(5):
        began = a.announce(f"a{n}")
        b.announce(f"b{n}", st="claimed")
        both = {node_id(f"a{n}"), node_id(f"b{n}")}
        took.append(gateway.first(lambda line, both=both: ids(line) == both)["at"] - began)
        if n == 4:
            wanted = {
                "kind": "node",
                "instance": instance("b4"),
                "id": node_id("b4"),
                "key": node_id("b4"),
                "addresses": [net.address("b"), net.ip6("b")],
                "port": 11435,
                "join_port": 11436,
                "claimed": True,
                "interface": "eth0",
            }
            assert gateway.of("b4") == wanted
        say_goodbye(a, b)
        wait_until(lambda: not gateway.heard())
    assert statistics.median(took) < 2, took


def test_a_plain_ollama_is_seen_by_its_address(net: Lan, machines: list[Peer]):
    gateway, a, *_ = machines
    a.do("announce", kind=OLLAMA, instance="ollama-on-a", port=11434, properties={})
    wait_until(lambda: len(gateway.heard()) == 1)
    found = gateway.heard()[0]
    assert (found["kind"], found["id"], found["instance"]) == ("ollama", "", "ollama-on-a")
    assert found["key"] == f"ollama:{net.address('a')}:11434"


def test_a_machine_that_is_killed_stays_until_its_records_end_and_comes_back_as_one(net: Lan, machines: list[Peer]):
    gateway, a, *_ = machines
    victim = Peer(net, "b")
    victim.ready()
    victim.announce("victim")
    wait_until(lambda: "victim" in seeds(gateway, "victim"))
    victim.kill()
    a.announce("later")
    wait_until(lambda: seeds(gateway, "later") == {"later"})
    assert seeds(gateway, "victim", "later") == {"victim", "later"}
    again = Peer(net, "b")
    again.ready()
    again.announce("victim", port=11999)
    wait_until(lambda: (found := gateway.of("victim")) is not None and found["port"] == 11999)
    assert len(gateway.heard()) == 2
    again.close()
    wait_until(lambda: seeds(gateway, "victim", "later") == {"later"})


def test_a_machine_that_says_nothing_more_is_gone_when_the_records_of_its_host_have_ended(
    net: Lan, machines: list[Peer]
):
    gateway, a, _, evil = machines
    listens(gateway, a)
    evil.do("send", packets=[announcement("brief", net.free(99), ttl=1)], address=net.address("evil"))
    gateway.first(lambda line: node_id("brief") in ids(line))
    wait_until(lambda: node_id("brief") not in gateway.ids())


def test_a_forged_goodbye_takes_a_sighting_away_only_until_the_machine_answers_for_itself(
    net: Lan, machines: list[Peer]
):
    gateway, a, _, evil = machines
    evil.do("sniff", address=net.address("evil"))
    a.announce("steady")
    # What is said at first, unasked, would bring it back as well.
    wait_until(lambda: sum(line.get("sender") == net.address("a") for line in evil.said) >= 6)
    wait_until(lambda: seeds(gateway, "steady") == {"steady"})
    evil.do("send", packets=[goodbye("steady")], address=net.address("evil"))
    wait_until(lambda: not gateway.heard())
    # The gateway's next question for everybody, three seconds from now, would bring it back as well.
    wait_until(lambda: seeds(gateway, "steady") == {"steady"}, 2.5)


def test_addresses_that_no_machine_of_this_link_can_have_are_not_taken(net: Lan, machines: list[Peer]):
    gateway, a, _, evil = machines
    listens(gateway, a)
    false = [
        "127.0.0.1",
        "0.0.0.0",
        "224.0.0.251",
        "255.255.255.255",
        "169.254.1.1",
        "203.0.113.9",
        net.free(0),
        net.free(255),
        net.address("gw"),
        net.free(9).replace(".1.9", ".2.9"),
    ]
    packets = [announcement(f"false{n}", address) for n, address in enumerate(false)]
    evil.do("send", packets=[*packets, announcement("true", net.free(99))], address=net.address("evil"))
    wait_until(lambda: "true" in seeds(gateway, "true"))
    assert gateway.ids() == {node_id("true"), node_id("listens")}


def test_a_change_of_address_is_followed(net: Lan, machines: list[Peer]):
    gateway, a, *_ = machines
    a.announce("mover")
    wait_until(lambda: seeds(gateway, "mover") == {"mover"})
    net.move("a", 150)
    wait_until(
        lambda: (found := gateway.of("mover")) is not None and found["addresses"] == [net.free(150), net.ip6("a")]
    )


class TestTwoLans:
    """`a` is on the first, `c` on the second, and the gateway and `both` are on both."""

    @pytest.fixture
    def lans(self) -> Iterator[tuple[Lan, Lan]]:
        with lan("gw", "a", "both") as one:
            yield one, one.another("gw", "c", "both")

    def test_each_is_heard_where_it_is_and_nothing_crosses(self, lans: tuple[Lan, Lan]):
        one, two = lans
        with peers(one, "gw", "a", "c", "both") as (gateway, a, c, both):
            gateway.do("discover")
            a.announce("a")
            both.announce("both")
            wait_until(lambda: node_id("a") in gateway.ids())
            # An address of the other LAN, which the gateway could reach.
            a.do("send", packets=[announcement("crossing", two.free(99))], address=one.address("a"))
            c.announce("c")
            wait_until(lambda: len(gateway.heard()) == 4)
            assert {(line["id"], line["interface"], line["addresses"][0]) for line in gateway.heard()} == {
                (node_id("a"), "eth0", one.address("a")),
                (node_id("both"), "eth0", one.address("both")),
                (node_id("both"), "eth1", two.address("both")),
                (node_id("c"), "eth1", two.address("c")),
            }

    @pytest.mark.parametrize(
        ("name", "interfaces"), [("docker0", []), ("eth1", ["eth0"])], ids=["container's bridge", "not in the settings"]
    )
    def test_nothing_is_said_on_an_interface_that_is_left_out(
        self, lans: tuple[Lan, Lan], name: str, interfaces: list[str]
    ):
        one, two = lans
        two.rename("gw", name)
        with peers(one, "gw", "a", "c") as (gateway, a, c):
            a.do("sniff", address=one.address("a"))
            c.do("sniff", address=two.address("c"))
            gateway.announce("gateway", interfaces=interfaces)
            gateway.do("discover", interfaces=interfaces)
            # What is heard of the goodbye came after every question and announcement.
            a.first(lambda line: line.get("sender") == one.address("gw"))
            gateway.do("goodbye")
            a.do("measure")
            c.do("measure")
            assert sum(line.get("sender") == one.address("gw") for line in a.said) >= 3
            assert not [line for line in c.said if "sender" in line]
