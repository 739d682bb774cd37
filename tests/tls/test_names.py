import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.tls import names
from appliance.tls.names import names_of, read_names


def of(hostname: str = "box", host: str = "0.0.0.0", more: tuple[str, ...] = (), addresses: tuple[str, ...] = ()):
    found = names_of(hostname, host=host, more=more, addresses=[ipaddress.ip_address(one) for one in addresses])
    return found.dns, tuple(str(one) for one in found.addresses)


def test_a_machine_is_called_by_its_name_its_mdns_name_and_its_addresses():
    assert of("Box", addresses=("192.168.1.5", "fd00::5", "fe80::1")) == (
        ("localhost", "box", "box.local"),
        ("127.0.0.1", "192.168.1.5", "::1", "fd00::5"),
    )


def test_a_name_with_a_domain_is_one_beside_the_short_one():
    assert of("box.office.example")[0] == ("localhost", "box.office.example", "box", "box.local")


@pytest.mark.parametrize(
    ("host", "dns", "addresses"),
    [
        ("192.168.1.9", (), ("192.168.1.9",)),
        ("ai.office.lan", ("ai.office.lan",), ()),
        ("::", (), ()),
        ("fd00::9", (), ("fd00::9",)),
    ],
)
def test_what_the_gateway_listens_on_is_held_too(host: str, dns: tuple[str, ...], addresses: tuple[str, ...]):
    found = of(host=host)
    assert found[0] == ("localhost", "box", "box.local", *dns)
    assert set(found[1]) == {"127.0.0.1", "::1", *addresses}


def test_further_names_are_held_once():
    assert of(more=("AI.example.", "box"))[0] == ("localhost", "box", "box.local", "ai.example")


@given(st.text(max_size=300), st.text(max_size=80))
def test_whatever_a_machine_is_called_only_dns_names_come_out(hostname: str, host: str):
    found = names_of(hostname, host=host, more=(), addresses=())
    assert found.dns[0] == "localhost"
    for name in found.dns:
        assert name.isascii()
        assert name == name.lower()
        assert 0 < len(name) <= 253


def test_this_machines_own_names_are_read():
    found = read_names("0.0.0.0", ())
    assert socket.gethostname().lower().partition(".")[0] in found.dns
    assert ipaddress.ip_address("127.0.0.1") in found.addresses


def test_where_the_system_does_not_say_its_addresses_the_rest_is_kept(monkeypatch: pytest.MonkeyPatch):
    def refuse():
        raise OSError

    monkeypatch.setattr(names, "read_links", refuse)
    assert [str(one) for one in read_names("0.0.0.0", ()).addresses] == ["127.0.0.1", "::1"]
