"""What of the process can be tested inside this one; the process itself is tested in tests/e2e."""

import asyncio
import gc
import socket
from pathlib import Path

import pytest

from appliance import daemon
from appliance.errors import ConfigError, StateError


def test_a_taken_port_is_told_with_another():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"SYNAPSE_GATEWAY__PORT={port + 1}"), daemon._bound("127.0.0.1", port):
            pass


@pytest.mark.parametrize(
    ("host", "written"),
    [("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1"), ("192.168.1.4", "192.168.1.4"), ("fd00::4", "[fd00::4]")],
)
def test_what_to_write_for_the_host(host: str, written: str):
    assert daemon._reachable(host) == written


def test_the_public_keys_are_kept_beside_the_database(tmp_path: Path):
    for keys in (b'{"keys":[]}', b'{"keys":[1]}'):
        daemon._publish_keys(tmp_path, keys)
        assert (tmp_path / "keys.json").read_bytes() == keys
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


def test_a_host_that_does_not_exist_is_told_with_the_setting():
    with pytest.raises(ConfigError, match=r"Set gateway\.host"), daemon._bound("no.such.host.invalid", 0):
        pass


def test_keys_that_cannot_be_written_are_told(tmp_path: Path):
    with pytest.raises(StateError, match="public keys"):
        daemon._publish_keys(tmp_path / "none", b"{}")


async def test_an_exception_that_nobody_awaits_is_logged_without_its_words(caplog: pytest.LogCaptureFixture):
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(daemon._lost)
    lost = loop.create_future()
    lost.set_exception(ValueError("a secret"))
    del lost
    gc.collect()
    assert caplog.messages == ["an exception reached the event loop: ValueError"]
