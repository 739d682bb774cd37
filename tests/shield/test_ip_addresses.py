"""Addresses of machines. Sources: shield.md ("Detection"), RFC 4291; the oracle is `ipaddress`."""

import ipaddress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from appliance.shield.ip_addresses import find
from tests.shield.found import values


@given(st.ip_addresses(v=4))
def test_any_ipv4_but_those_that_are_nobodys(address: ipaddress.IPv4Address):
    bits = f"{int(address):032b}"
    nobodys = address.is_loopback or bits.startswith("0" * 8) or (bits[0] == "1" and "01" not in bits)
    assert values(find, f"from {address}:443") == ([] if nobodys else [str(address)])


@given(st.ip_addresses(v=6, network="2000::/3") | st.ip_addresses(v=6, network="fe80::/10"))
def test_any_ipv6_in_use_in_each_of_its_spellings(address: ipaddress.IPv6Address):
    assume(any(each.isdigit() for each in str(address)))
    for written in (str(address), address.exploded, str(address).upper()):
        assert values(find, f"([{written}]:443)") == [written]


@pytest.mark.parametrize("mask", [f"{ipaddress.IPv4Network(f'0.0.0.0/{length}').netmask}" for length in range(33)])
def test_masks(mask: str):
    assert values(find, f"netmask {mask}") == []


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "0.0.0.0",
        "256.1.1.1",
        "1.2.3",
        "1.2.3.4.5",
        "5.1.2.3.4",
        "01.2.3.4",
        "v1.2.3.4",
        "version 1.2.3.4",
        "Version: 1.2.3.4",
        "release 10.4.3.2",
        "la version 12.1.6.85",
        "Abschnitt 4.2.1.3",
        "§ 4.2.1.3",
        "§4.2.1.3",
        "pkg==1.2.3.4",
        "pkg>=1.2.3.4",
        "pkg ~= 1.2.3.4",
        "from nginx-1.25.3.2",
        "pkg-1.2.3.4.tar.gz",
        "1.2.3.4-beta",
        "Chrome/120.0.0.0",
        "OID 2.5.29.15",
        "::",
        "::1",
        "::ffff",
        "::ffff:127.0.0.1",
        "std::vector",
        "ad::c",
        "fe::de",
        "a1::b2",
        "u8::MAX",
        "f64::consts",
        "x[1::2]",
        "12:30:45",
        "10::20",
        "2001:db8::1::2",
        "x2001:db8::1",
        "2001:db8::1_a",
        "2001:db8::1g",
        "50:06:01:60:3b:20:19:a8",
        "1:2:3:4:5:6:7",
    ],
)
def test_what_is_none(text: str):
    assert values(find, text) == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://10.0.0.7/x", "10.0.0.7"),
        ("master/10.10.34.11:9000", "10.10.34.11"),
        ("[/10.10.34.11:3888]", "10.10.34.11"),
        ("10.0.0.1-10.0.0.1", "10.0.0.1"),
        ("\\n192.0.2.7", "192.0.2.7"),
        ("server version 2 at 192.0.2.7", "192.0.2.7"),
        ("new version, from host 192.0.2.7", "192.0.2.7"),
        ("seen at 192.0.2.7.", "192.0.2.7"),
        ("ssh root@192.0.2.7", "192.0.2.7"),
        ("ip.addr==192.0.2.7", "192.0.2.7"),
        ("host-192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::1"),
        ("address: 2001:db8::7: refused", "2001:db8::7"),
        ("::ffff:192.0.2.7", "::ffff:192.0.2.7"),
        ("4f8a:c99e:dc86:faf9:5988:5f63:375e:8a2a", "4f8a:c99e:dc86:faf9:5988:5f63:375e:8a2a"),
        ("2001:db8:::: 2001:db8::9", "2001:db8::9"),
    ],
)
def test_where_an_address_begins_and_ends(text: str, address: str):
    assert set(values(find, text)) == {address}
