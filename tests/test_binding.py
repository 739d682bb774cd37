import socket

import pytest

from appliance.binding import bound
from appliance.errors import ConfigError

ADVICE = {"other_host": "Another host.", "other_port": "Another port."}


def refused(host: str, port: int) -> str:
    with pytest.raises(ConfigError) as caught, bound(host, port, **ADVICE):
        pass
    return str(caught.value)


def test_a_taken_port_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused("127.0.0.1", port) == (
            f"Port {port} on 127.0.0.1 cannot be used (address already in use). Another port."
        )


def test_an_address_that_is_not_this_machines_is_told():
    assert refused("192.0.2.1", 0).endswith("cannot be used (cannot assign requested address). Another port.")


def test_a_host_that_does_not_exist_is_told_as_such():
    assert refused("no.such.host.invalid", 0) == "There is no machine 'no.such.host.invalid'. Another host."


def test_a_client_whose_machine_is_gone_is_noticed():
    with bound("127.0.0.1", 0, **ADVICE) as listening:
        listening.setblocking(True)
        listening.listen(1)
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
