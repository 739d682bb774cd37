"""Host and Origin. Source: recordings 102 and 103; Ollama's list of names that mean this machine."""

import pytest

from appliance.engine.guard import allows_host, allows_origin


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "LOCALHOST:11480",
        "127.0.0.1:11480",
        "127.1.2.3",
        "[::1]:11480",
        "::1",
        "0.0.0.0:1",
        "192.168.1.5",
        "10.0.0.1:80",
        "office",
        "Office:11480",
        "printer.local",
        "a.localhost",
        "x.internal:1",
    ],
)
def test_names_of_this_machine(host: str):
    assert allows_host(host, own_name="office")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:11480", "8.8.8.8", "localhost.evil.example", "local", "office.evil"]
)
def test_names_of_others(host: str):
    assert not allows_host(host, own_name="office")


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        (None, True),
        ("http://localhost", True),
        ("http://localhost:3000", True),
        ("https://127.0.0.1:8443", True),
        ("http://[::1]:3000", True),
        ("http://box.example:11480", True),  # the page is served under the engine's own name
        ("http://evil.example", False),
        ("http://localhost.evil.example", False),
        ("http://evil.example#localhost", False),
        ("https://localhost@evil.example", False),
        ("null", False),
        ("", False),
        ("file://", False),
        ("chrome-extension://abc", False),
        ("http://[", False),
    ],
)
def test_origins(origin: str | None, allowed: bool):
    assert allows_origin(origin, "box.example:11480") is allowed
