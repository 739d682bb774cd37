"""Source: sd_notify(3), sd_watchdog_enabled(3)."""

import os
import socket
import time
from pathlib import Path

import pytest

from appliance.notify import Notifier, watchdog_seconds


def listening(address: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(address.replace("@", "\0", 1))
    sock.settimeout(5)
    return sock


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@synapse-test-{os.getpid()}"


def test_each_message_is_one_datagram(address: str):
    with listening(address) as systemd:
        says = Notifier.of({"NOTIFY_SOCKET": address})
        says.ready("serving https://127.0.0.1:8787/v1")
        assert systemd.recv(4096) == b"READY=1\nSTATUS=serving https://127.0.0.1:8787/v1"
        says.stopping("two\nlines")
        assert systemd.recv(4096) == b"STOPPING=1\nSTATUS=two lines"
        says.alive()
        assert systemd.recv(4096) == b"WATCHDOG=1"


def test_a_reload_says_when_it_began_on_the_monotonic_clock(address: str):
    with listening(address) as systemd:
        before = time.monotonic_ns() // 1000
        Notifier.of({"NOTIFY_SOCKET": address}).reloading()
        first, _, began = systemd.recv(4096).decode().partition("\nMONOTONIC_USEC=")
        assert first == "RELOADING=1"
        assert before <= int(began) <= time.monotonic_ns() // 1000


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}])
def test_where_nobody_asked_nothing_is_said(environ: dict[str, str], caplog: pytest.LogCaptureFixture):
    Notifier.of(environ).ready("serving")
    assert caplog.messages == []


def test_a_socket_that_is_gone_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    Notifier(str(tmp_path / "none")).alive()
    assert "systemd cannot be told WATCHDOG=1" in caplog.text


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": str(os.getpid())}, 1.5),
        ({"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_how_often_systemd_wants_to_hear(environ: dict[str, str], seconds: float | None):
    assert watchdog_seconds(environ) == seconds
