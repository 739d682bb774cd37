import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from appliance.tasks import Tasks
from appliance.tls.authority import DAYS, RENEW_DAYS, Authority
from appliance.tls.automatic import Automatic
from appliance.tls.names import Names
from tests.tls.handshakes import certificate_of, shown
from tests.waiting import until

LOCAL = Names(("localhost", "box"), (ipaddress.ip_address("127.0.0.1"),))
MOVED = Names(("localhost", "box"), (ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("192.168.1.77")))
AUTHORITY = Authority.create(LOCAL)


class Machine:
    def __init__(self) -> None:
        self.names, self.now = LOCAL, datetime.now(UTC)
        self.automatic = Automatic(AUTHORITY, lambda: self.names, lambda: self.now)

    def certificate(self, name: str = "localhost") -> x509.Certificate:
        return certificate_of(shown(self.automatic.handshakes.context, trust=AUTHORITY.pem, name=name))


async def test_a_certificate_stays_while_nothing_changes():
    machine = Machine()
    first = machine.certificate()
    machine.now += timedelta(days=DAYS - RENEW_DAYS - 1)
    await machine.automatic.look()
    assert machine.certificate() == first


@pytest.mark.parametrize("days", [DAYS - RENEW_DAYS, -400])
async def test_it_is_renewed_before_it_ends_and_where_the_clock_was_wrong(days: int):
    machine = Machine()
    issued = machine.automatic.handshakes._now
    machine.now += timedelta(days=days)
    await machine.automatic.look()
    assert machine.automatic.handshakes._now is not issued


async def test_a_new_address_is_in_the_next_certificate_by_itself():
    machine, tasks = Machine(), Tasks()
    first = machine.certificate()
    machine.names = MOVED
    tasks.spawn("watch", machine.automatic.watch(0.01))
    await until(lambda: machine.certificate() != first)
    assert machine.certificate("192.168.1.77")
    await tasks.cancel()


async def test_one_can_be_asked_for():
    machine = Machine()
    first = machine.certificate()
    await machine.automatic.look(always=True)
    assert machine.certificate() != first


async def test_a_name_that_the_ca_may_not_vouch_for_is_left_out_and_told_once(caplog: pytest.LogCaptureFixture):
    machine = Machine()
    machine.names = Names((*LOCAL.dns, "renamed.example"), LOCAL.addresses)
    await machine.automatic.look()
    await machine.automatic.look(always=True)
    assert machine.certificate("box")
    told = [line for line in caplog.messages if "leaves out renamed.example" in line]
    assert len(told) == 1
    assert "synapse tls new-ca" in told[0]
