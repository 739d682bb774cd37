import ipaddress
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.interfaces import Damping, Interface, Link, Watch, choose, described, read_links


def link(name: str, *addresses: str, **flags: bool) -> Link:
    return Link(name, tuple(ipaddress.ip_interface(one) for one in addresses or ("192.168.1.5/24",)), **flags)


def names(*links: Link, wanted: tuple[str, ...] = ()) -> list[str]:
    return [interface.name for interface in choose(links, wanted)]


class TestChoice:
    @pytest.mark.parametrize(
        "name", ["eth0", "enp3s0", "wlan0", "wlp2s0", "bond0", "eth0.20", "br0", "vmbr0", "br-lan"]
    )
    def test_a_lan_is_taken(self, name: str):
        assert names(link(name)) == [name]

    @pytest.mark.parametrize(
        "name",
        [
            "docker0",
            "docker_gwbridge",
            "br-0123456789ab",
            "veth1a2b3c4",
            "virbr0",
            "virbr0-nic",
            "cni0",
            "cni-podman0",
            "podman0",
            "lxcbr0",
            "lxdbr0",
            "cali0123456789a",
            "flannel.1",
            "vnet3",
            "tap0",
            "tun0",
            "wg0",
        ],
    )
    def test_what_containers_machines_within_and_tunnels_use_is_not(self, name: str):
        assert names(link(name)) == []
        assert names(link(name), wanted=(name,)) == [name]

    @pytest.mark.parametrize(
        "flags", [{"up": False}, {"multicast": False}, {"loopback": True}, {"point_to_point": True}]
    )
    def test_one_that_cannot_carry_it_is_not(self, flags: dict[str, bool]):
        assert names(link("eth0", **flags)) == []

    def test_the_settings_name_exactly_those(self):
        assert names(link("eth0"), link("eth1"), link("veth0"), wanted=("veth0", "eth1", "eth9")) == ["eth1", "veth0"]

    def test_loopback_never(self):
        assert names(link("lo", "127.0.0.1/8", loopback=True), wanted=("lo",)) == []
        assert names(link("odd", "127.0.0.1/8"), wanted=("odd",)) == []

    def test_only_addresses_that_others_can_use_are_kept_and_a_routed_one_of_ipv4_comes_first(self):
        found = choose([link("eth0", "fe80::1/64", "fd00::5/64", "169.254.3.4/16", "192.168.1.5/24", "192.168.1.5/24")])
        assert [str(one) for one in found[0].addresses] == ["192.168.1.5/24", "169.254.3.4/16", "fd00::5/64"]

    def test_one_with_none_is_not_taken(self):
        assert choose([link("eth0", "fe80::1/64")]) == ()


ONE, OTHER = choose([link("eth0")])[0], choose([link("eth0", "192.168.1.9/24")])[0]


class TestDamping:
    def test_the_first_reading_is_taken_as_it_is(self):
        assert Damping().settle([ONE]) == (ONE,)

    @pytest.mark.parametrize(("before", "after"), [([], [ONE]), ([ONE], []), ([ONE], [OTHER])])
    def test_a_change_is_taken_when_it_is_seen_twice(self, before: list[Interface], after: list[Interface]):
        damping = Damping()
        damping.settle(before)
        damping.settle(before)
        assert damping.settle(after) == tuple(before)
        assert damping.settle(after) == tuple(after)

    def test_a_link_that_flaps_is_neither_taken_nor_dropped(self):
        damping = Damping()
        damping.settle([ONE])
        assert {damping.settle([ONE] if n % 2 else []) for n in range(10)} == {(ONE,)}

    @given(st.lists(st.sampled_from([None, ONE, OTHER]), min_size=2))
    def test_what_is_taken_was_read_twice_in_a_row_or_at_first(self, readings: list[Interface | None]):
        damping = Damping()
        settled = [damping.settle([] if reading is None else [reading]) for reading in readings]
        as_read = [() if reading is None else (reading,) for reading in readings]
        assert settled[0] == as_read[0]
        for n in range(1, len(readings)):
            assert settled[n] == (as_read[n] if as_read[n] == as_read[n - 1] else settled[n - 1])


class TestWatch:
    def test_it_knows_every_address_of_this_machine(self):
        watch = Watch(read=lambda: (link("eth0", "192.168.1.5/24"), link("docker0", "172.17.0.1/16")))
        assert [one.name for one in watch.look()] == ["eth0"]
        assert {str(one) for one in watch.own} == {"192.168.1.5", "172.17.0.1"}

    def test_a_failure_to_read_changes_nothing_and_is_logged_once(self, caplog: pytest.LogCaptureFixture):
        readings: Iterator[tuple[Link, ...]] = iter([(link("eth0"),)])
        watch = Watch(read=lambda: next(readings))
        with caplog.at_level(logging.WARNING):
            assert watch.look() == watch.look() == watch.look() == (ONE,)
        assert len(caplog.records) == 1


class TestReading:
    """Values of `flags` and `operstate` as Linux writes them (sysfs-class-net of its documentation)."""

    @pytest.mark.parametrize(
        ("flags", "state", "expected"),
        [
            ("0x1003", "up", link("eth0")),
            ("0x1003", "down", link("eth0", up=False)),
            ("0x1003", "lowerlayerdown", link("eth0", up=False)),
            ("0x1002", "down", link("eth0", up=False)),
            ("0x9", "unknown", link("eth0", loopback=True, multicast=False)),
            ("0x1091", "unknown", link("eth0", point_to_point=True)),
            ("", "", link("eth0", up=False)),
        ],
    )
    def test_the_flags(self, tmp_path: Path, flags: str, state: str, expected: Link):
        (tmp_path / "eth0").mkdir()
        (tmp_path / "eth0/flags").write_text(f"{flags}\n")
        (tmp_path / "eth0/operstate").write_text(f"{state}\n")
        assert described("eth0", expected.addresses, tmp_path) == expected

    def test_one_that_has_gone_meanwhile_is_not_up(self, tmp_path: Path):
        assert not described("eth0", (), tmp_path).up

    def test_this_machine_has_its_loopback(self):
        found = next(one for one in read_links() if one.name == "lo")
        assert found.loopback
        assert ipaddress.ip_interface("127.0.0.1/8") in found.addresses
