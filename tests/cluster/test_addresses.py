import ipaddress

import pytest

from appliance.cluster.addresses import PRIVATE, Inside, at_url, host_of
from appliance.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "trust", "name"),
    [
        ("http://127.0.0.1:11434", "loopback", "127.0.0.1:11434"),
        ("http://localhost:11434/", "loopback", "localhost:11434"),
        ("http://[::1]:11434", "loopback", "::1:11434"),
        ("http://192.168.1.20:11434", "open", "192.168.1.20:11434"),
        ("https://ollama.office.lan", "open", "ollama.office.lan"),
        ("http://127.0.0.1%.example.com", "open", "127.0.0.1%.example.com"),  # a name, whatever it begins with
    ],
)
def test_a_machine_by_its_address(url: str, trust: str, name: str):
    found = at_url(url)
    assert (found.trust, found.name) == (trust, name)
    assert found.id == at_url(url.rstrip("/")).id


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:11434",
        "ftp://127.0.0.1",
        "http://",
        "http://user:secret@10.0.0.1",
        "http://10.0.0.1:notaport",
        "http://8.8.8.8:11434",
        "https://[2001:4860:4860::8888]",
    ],
)
def test_an_address_outside_or_no_address_is_refused(url: str):
    with pytest.raises(ConfigError) as refused:
        at_url(url)
    assert refused.value.advice


# RFC 1918, RFC 3927, RFC 4193, RFC 4291, RFC 6598 (shared space is a carrier's, not the office's).
@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("127.255.0.9", True),
        ("10.1.2.3", True),
        ("172.16.0.1", True),
        ("172.32.0.1", False),
        ("192.168.255.255", True),
        ("192.169.0.1", False),
        ("169.254.1.1", True),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("8.8.8.8", False),
        ("::1", True),
        ("fd00::1", True),
        ("fe80::1", True),
        ("2001:db8::1", False),
        ("::ffff:192.168.1.1", True),
        ("::ffff:8.8.8.8", False),
    ],
)
def test_what_counts_as_inside_the_building(address: str, local: bool):
    assert PRIVATE.holds(ipaddress.ip_address(address)) is local


def test_networks_that_an_administrator_lists_are_inside_too():
    also = Inside((ipaddress.ip_network("100.64.0.0/10"),))
    assert also.holds(ipaddress.ip_address("100.64.3.1"))
    assert at_url("http://100.64.3.1:11434", inside=also).trust == "open"
    with pytest.raises(ConfigError, match="inside"):
        at_url("http://100.64.3.1:11434")


def test_a_refusal_repeats_no_password_and_says_where_a_service_outside_belongs():
    with pytest.raises(ConfigError) as refused:
        at_url("http://user:hunter2@10.0.0.1")
    assert "hunter2" not in str(refused.value)
    with pytest.raises(ConfigError, match="synapse provider add"):
        at_url("https://8.8.8.8")


def test_the_host_of_what_is_no_url_is_none():
    assert host_of("http://[::1]:80/x") == "::1"
    assert host_of("http://[::1") == ""
