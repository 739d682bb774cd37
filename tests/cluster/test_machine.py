import ipaddress

import pytest

from appliance.cluster.machine import Machine, Model, at_url, canonical, default_model, is_local, leaves_the_building
from appliance.errors import ConfigError


def model(name: str, parameters: int = 1, *, capabilities: tuple[str, ...] = ("completion",), remote: bool = False):
    return Model(name, "0" * 64, parameters, frozenset(capabilities), remote)


def machine(*models: Model, healthy: bool = True) -> Machine:
    return Machine("m", "m", "http://127.0.0.1:1", "loopback", healthy=healthy, models=models)


@pytest.mark.parametrize(
    ("url", "trust", "name"),
    [
        ("http://127.0.0.1:11434", "loopback", "127.0.0.1:11434"),
        ("http://localhost:11434/", "loopback", "localhost:11434"),
        ("http://[::1]:11434", "loopback", "::1:11434"),
        ("http://192.168.1.20:11434", "open", "192.168.1.20:11434"),
        ("https://ollama.office.lan", "open", "ollama.office.lan"),
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
    assert is_local(ipaddress.ip_address(address)) is local


@pytest.mark.parametrize(
    ("name", "remote_host", "leaves"),
    [
        ("llama3.2:latest", None, False),
        ("gpt-oss:120b-cloud", None, True),
        ("deepseek:cloud", None, True),
        ("named-cloud", None, True),
        ("renamed:latest", "https://ollama.com:443", True),
        ("cloudy:latest", None, False),
    ],
)
def test_tags_served_by_ollamas_own_cloud_are_never_local(name: str, remote_host: str | None, leaves: bool):
    assert leaves_the_building(name, remote_host) is leaves


def test_latest_may_be_left_out():
    assert canonical("smollm2:latest") == "smollm2"
    assert machine(model("smollm2:latest")).has("smollm2")
    assert machine(model("smollm2")).has("smollm2:latest")
    assert not machine(model("smollm2:135m")).has("smollm2")


def test_a_cloud_tag_is_not_a_model_of_the_machine():
    assert not machine(model("big:cloud", remote=True)).has("big:cloud")


def test_the_default_is_the_largest_chat_model_of_a_healthy_machine():
    small, large = model("small:latest", 10), model("large:8b", 800)
    embedder = model("embedder", 9_000, capabilities=("embedding",))
    cloud = model("huge:cloud", 99_000, remote=True)
    assert default_model((machine(small), machine(large, embedder, cloud))) == "large:8b"
    assert default_model((machine(small), machine(large, healthy=False))) == "small"
    assert default_model((machine(embedder, cloud),)) is None
    assert default_model(()) is None
