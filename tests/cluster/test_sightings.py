"""What is believed as a hint, and the limits of the table (cluster.md, "What mDNS is for")."""

import ipaddress
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.interfaces import Interface
from appliance.cluster.sightings import (
    MAX_CANDIDATES,
    NODE_TYPE,
    OLLAMA_TYPE,
    PROBE_SECONDS,
    Candidates,
    Sighting,
    read_sighting,
)
from tests.cluster.mdns import instance, node_id, txt

ETH0 = Interface("eth0", (ipaddress.ip_interface("192.168.1.5/24"), ipaddress.ip_interface("fd00:1::5/64")))


def read(
    *addresses: str,
    name: str = f"{instance('a')}.{NODE_TYPE}",
    port: int | None = 11435,
    said: dict[str, str] | None = None,
    own: tuple[str, ...] = (),
    interface: Interface = ETH0,
) -> Sighting | None:
    records: dict[bytes, bytes | None] = {
        key.encode(): value.encode("utf-8", "surrogateescape") for key, value in (said or txt("a")).items()
    }
    mine = [ipaddress.ip_address(one) for one in own]
    return read_sighting(name, addresses or ("192.168.1.20",), port, records, interface, mine)


NODE = Sighting("node", instance("a"), node_id("a"), ("192.168.1.20",), 11435, 11436, claimed=False, interface="eth0")


class TestReading:
    def test_a_node(self):
        assert read() == NODE
        assert NODE.key == node_id("a")

    def test_a_claimed_node_on_another_port(self):
        assert read(said=txt("a", st="claimed", jp="65535"), port=1) == replace(
            NODE, claimed=True, join_port=65_535, port=1
        )

    def test_a_plain_ollama_is_known_by_its_address_alone(self):
        found = read("192.168.1.21", "192.168.1.20", name=f"Ollama on büro._x.{OLLAMA_TYPE}", port=11434, said={"": ""})
        assert found == Sighting(
            "ollama",
            "Ollama on büro._x",
            "",
            ("192.168.1.20", "192.168.1.21"),
            11434,
            0,
            claimed=False,
            interface="eth0",
        )
        assert found.key == "ollama:192.168.1.20:11434"

    @pytest.mark.parametrize(
        "other",
        [
            {"txtvers": "2"},
            {"proto": "2"},
            {"proto": ""},
            {"api": "openai"},
            {"st": "free"},
            {"st": ""},
            {"jp": "0"},
            {"jp": "65536"},
            {"jp": "+1"},
            {"jp": "١"},
            {"jp": "080"},
            {"jp": ""},
            {"id": ""},
            {"id": node_id("b")},
            {"id": node_id("a").upper()},
            {"id": node_id("a")[:-1]},
            {"id": node_id("a") + "a"},
            {"id": node_id("a")[:-1] + "b"},
            {"id": node_id("a")[:-1] + "\udcff"},
            {"x": "x" * 1_000},
        ],
    )
    def test_a_txt_record_that_says_anything_else_is_refused(self, other: dict[str, str]):
        assert read(said=txt("a", **other)) is None

    @pytest.mark.parametrize("missing", ["txtvers", "proto", "id", "st", "jp", "api"])
    def test_a_txt_record_that_lacks_something_is_refused(self, missing: str):
        assert read(said={key: value for key, value in txt("a").items() if key != missing}) is None

    def test_what_a_later_version_says_besides_is_no_fault(self):
        assert read(said=txt("a", new="1")) == NODE

    @pytest.mark.parametrize(
        "name",
        [
            f"syn-{'a' * 16}.{NODE_TYPE}",
            NODE_TYPE,
            f".{NODE_TYPE}",
            f"{instance('a')}._other._tcp.local.",
            f"x\n.{OLLAMA_TYPE}",
            f"{'x' * 64}.{OLLAMA_TYPE}",
        ],
    )
    def test_a_name_that_is_not_one_is_refused(self, name: str):
        assert read(name=name) is None

    @pytest.mark.parametrize("port", [None, 0, -1, 65_536])
    def test_a_port_that_is_none_is_refused(self, port: int | None):
        assert read(port=port) is None

    @pytest.mark.parametrize(
        "address",
        [
            "127.0.0.1",
            "0.0.0.0",
            "::1",
            "::",
            "224.0.0.251",
            "ff02::fb",
            "255.255.255.255",
            "192.168.1.0",
            "192.168.1.255",
            "192.168.1.5",
            "192.168.2.20",
            "8.8.8.8",
            "169.254.169.254",
            "fe80::20",
            "fd00:1::",
            "fd00:1::5",
            "fd00:2::20",
            "::ffff:192.168.1.20",
            "host",
            "",
        ],
    )
    def test_an_address_that_no_other_machine_of_this_link_has_is_left_out(self, address: str):
        assert read(address) is None
        assert read(address, "192.168.1.20") == NODE

    @pytest.mark.parametrize(
        "network",
        ["0.0.0.0/0", "127.0.0.1/8", "224.0.0.1/4", "::/0"],
        ids=["all", "loopback", "multicast", "all of IPv6"],
    )
    @pytest.mark.parametrize("address", ["127.0.0.9", "224.0.0.251", "0.0.0.0", "::1", "::", "ff02::fb"])
    def test_not_even_where_an_interface_has_an_odd_network(self, network: str, address: str):
        assert read(address, interface=Interface("eth0", (ipaddress.ip_interface(network),))) is None

    def test_neither_is_one_of_this_machine_on_another_interface(self):
        assert read("192.168.1.7", own=("192.168.1.7",)) is None

    @pytest.mark.parametrize(("mine", "other"), [("10.0.0.0/31", "10.0.0.1"), ("fd00::/127", "fd00::1")])
    def test_a_network_of_two_has_two_machines(self, mine: str, other: str):
        found = read(other, interface=Interface("eth0", (ipaddress.ip_interface(mine),)))
        assert found is not None
        assert found.addresses == (other,)

    def test_ipv4_comes_first_and_each_address_once(self):
        found = read("fd00:1::20", "192.168.1.30", "192.168.1.20", "192.168.1.30")
        assert found is not None
        assert found.addresses == ("192.168.1.20", "192.168.1.30", "fd00:1::20")

    def test_one_that_claims_more_addresses_than_a_machine_has_is_refused(self):
        assert read(*(f"192.168.1.{n}" for n in range(20, 28))) is not None
        assert read(*(f"192.168.1.{n}" for n in range(20, 29))) is None

    @given(
        st.text(max_size=80),
        st.lists(st.one_of(st.ip_addresses().map(str), st.text(max_size=5)), max_size=12),
        st.integers(-1, 70_000),
        st.dictionaries(st.binary(max_size=9), st.one_of(st.none(), st.binary(max_size=60)), max_size=9),
        st.sampled_from([NODE_TYPE, OLLAMA_TYPE]),
    )
    def test_whatever_comes_gives_a_sighting_within_its_limits_or_none(
        self, label: str, addresses: list[str], port: int, said: dict[bytes, bytes | None], type_: str
    ):
        found = read_sighting(f"{label}.{type_}", [*addresses, "192.168.1.20"], port, said, ETH0)
        if found is not None:
            assert found.kind == "ollama" or type_ == NODE_TYPE
            assert 1 <= found.port <= 65_535
            assert found.instance.isprintable()
            networks = [one.network for one in ETH0.addresses]
            assert all(any(ipaddress.ip_address(one) in network for network in networks) for one in found.addresses)


def sighting(seed: str, address: str = "192.168.1.20", interface: str = "eth0") -> Sighting:
    return replace(NODE, id=node_id(seed), instance=instance(seed), addresses=(address,), interface=interface)


def keys(candidates: Candidates) -> list[str]:
    return [one.key for one in candidates.all()]


class TestCandidates:
    def test_one_id_on_several_interfaces_is_one_candidate_with_all_its_addresses(self):
        candidates = Candidates()
        candidates.hear([sighting("a"), sighting("a", "10.0.0.20", "eth1"), sighting("a", interface="wlan0")])
        (one,) = candidates.all()
        assert one.addresses == ("192.168.1.20", "10.0.0.20")
        assert len(one.sightings) == 3

    def test_two_ids_under_one_name_and_address_are_two(self):
        candidates = Candidates()
        candidates.hear([sighting("a"), replace(sighting("b"), instance=instance("a"))])
        assert keys(candidates) == [node_id("a"), node_id("b")]

    def test_one_name_of_plain_ollama_on_two_networks_is_two_machines(self):
        candidates = Candidates()
        ollama = replace(NODE, kind="ollama", id="", instance="ollama")
        candidates.hear([ollama, replace(ollama, addresses=("10.0.0.20",), interface="eth1")])
        assert len(candidates) == 2

    def test_whoever_is_not_heard_any_more_is_gone_proven_or_not(self):
        candidates = Candidates()
        candidates.hear([sighting("a"), sighting("b")])
        candidates.prove(node_id("a"))
        candidates.hear([])
        assert candidates.all() == ()
        candidates.hear([sighting("a")])
        assert not candidates.all()[0].proven

    def test_a_change_of_address_keeps_what_is_known(self):
        candidates = Candidates()
        candidates.hear([sighting("a")])
        candidates.prove(node_id("a"))
        candidates.due(0)
        candidates.hear([sighting("a", "192.168.1.99")])
        (one,) = candidates.all()
        assert (one.addresses, one.proven, one.probed_at) == (("192.168.1.99",), True, 0)

    def test_a_new_one_takes_the_place_of_the_oldest_that_was_never_proven(self):
        candidates = Candidates()
        heard = [sighting(f"n{n}") for n in range(MAX_CANDIDATES)]
        candidates.hear(heard)
        candidates.prove(heard[0].key)
        candidates.hear([*heard, sighting("new")])
        assert keys(candidates) == [heard[0].key, *(one.key for one in heard[2:]), node_id("new")]
        # The one that lost its place does not take another's, as long as it is only heard on.
        candidates.hear([*heard, sighting("new")])
        assert heard[1].key not in keys(candidates)
        # It has it again where there is room.
        candidates.hear([*heard[:-1], sighting("new")])
        assert heard[1].key in keys(candidates)

    def test_where_all_are_proven_a_new_one_has_no_place(self):
        candidates = Candidates()
        heard = [sighting(f"n{n}") for n in range(MAX_CANDIDATES)]
        candidates.hear(heard)
        for one in heard:
            candidates.prove(one.key)
        candidates.hear([*heard, sighting("new")])
        assert keys(candidates) == [one.key for one in heard]

    def test_each_is_probed_once_in_ten_seconds(self):
        candidates = Candidates()
        candidates.hear([sighting("a"), sighting("b")])
        assert [one.key for one in candidates.due(100)] == [node_id("a"), node_id("b")]
        assert candidates.due(109.9) == ()
        candidates.hear([sighting("a"), sighting("b"), sighting("c")])
        assert [one.key for one in candidates.due(109.9)] == [node_id("c")]
        assert [one.key for one in candidates.due(110)] == [node_id("a"), node_id("b")]

    def test_proving_one_that_has_gone_is_nothing(self):
        candidates = Candidates()
        candidates.prove(node_id("a"))
        assert candidates.all() == ()

    @given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 200), st.integers(0, 3)), max_size=12))
    def test_a_flood_of_names_costs_no_more_than_the_limits(self, floods: list[tuple[int, int, int]]):
        """Never more than 64 held, nor more than 64 probes in 10 s, and no proven one loses its place to another."""
        candidates, now, probes = Candidates(), 0.0, list[float]()
        proven = [sighting(f"proven{n}") for n in range(5)]
        candidates.hear(proven)
        for one in proven:
            candidates.prove(one.key)
        for start, count, seconds in floods:
            candidates.hear([*(sighting(f"forged{n}") for n in range(start, start + count)), *proven])
            assert len(candidates) == min(MAX_CANDIDATES, count + 5)
            assert {one.key for one in proven} <= set(keys(candidates))
            now += seconds
            probes += [now] * len(candidates.due(now))
            assert len([at for at in probes if at > now - PROBE_SECONDS]) <= MAX_CANDIDATES


def test_the_file_for_avahi_announces_what_is_looked_for():
    """The elements are those of avahi.service(5)."""
    group = ET.parse(Path(__file__).parents[2] / "systemd/avahi/ollama.service").getroot()
    assert group.tag == "service-group"
    assert f"{group.findtext('service/type')}.local." == OLLAMA_TYPE
    assert group.findtext("service/port") == "11434"
    name = group.find("name")
    assert name is not None
    assert (name.get("replace-wildcards"), name.text) == ("yes", "Ollama on %h")
