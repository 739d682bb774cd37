"""What was decided about machines, as it runs: played health, real keys and connections."""

import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from appliance.cluster.addresses import Inside, at_url, id_at
from appliance.cluster.agent.node import Trusted
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.connections import open_session
from appliance.cluster.identity import Identity
from appliance.cluster.join_gateway import join
from appliance.cluster.links import Links
from appliance.cluster.machine import DEFAULT_SLOTS, Machine
from appliance.cluster.members import Members, machine_of
from appliance.cluster.places import FindingProber, Places
from appliance.cluster.registry import Registry
from appliance.errors import ConfigError
from appliance.store.nodes import NodeRow
from tests.cluster.joining import SECRET
from tests.cluster.nodes import HOST, Node, node, stranger
from tests.upstreams.ollama import OllamaDouble
from tests.waiting import until

GATEWAY, OTHER = Identity.create(), Identity.create()
LISTED = at_url("http://127.0.0.1:11434")
HERE, THERE = "https://10.0.0.1:11435", "https://10.0.0.2:11435"


def pinned(url: str = HERE, **changes: object) -> NodeRow:
    row = NodeRow(OTHER.id, "desk", "pinned", "ollama", url, "key", "admitted", 0, certificate=OTHER.certificate)
    return replace(row, **changes)  # type: ignore[arg-type]  fields of a row


def opened(url: str = "http://10.0.0.9:11434", **changes: object) -> NodeRow:
    row = NodeRow(id_at(url), "attic", "open", "ollama", url, "administrator", "admitted", 0)
    return replace(row, **changes)  # type: ignore[arg-type]  fields of a row


@dataclass
class Health:
    """A machine is well at these URLs alone; None: at all."""

    at: set[str] | None = None
    asked: list[str] = field(default_factory=list)

    async def probe(self, machine: Machine) -> Machine:
        self.asked.append(machine.url)
        well = self.at is None or machine.url in self.at
        return replace(machine, healthy=True, why="") if well else machine.failed("nobody")


@dataclass
class Made:
    members: Members
    registry: Registry
    links: Links
    health: Health
    reached: list[tuple[str, str]]

    async def start(self, *rows: NodeRow, key: str | None = None, listed: Iterable[Machine] = ()) -> None:
        await self.members.start(listed, {row.id: (row, key) for row in rows})

    def well(self) -> dict[str, bool]:
        return {machine.url: machine.healthy for machine in self.registry.snapshot()}

    def headers(self, row: NodeRow) -> dict[str, str]:
        return dict(self.links.of(machine_of(row)).headers)


@pytest.fixture
async def made() -> AsyncIterator[Made]:
    health, places, reached = Health(), Places(), list[tuple[str, str]]()
    links = Links(lambda tls: open_session(tls=tls))
    registry = Registry(FindingProber({"ollama": health, "openai-compatible": health}, places), interval=3600)

    async def note(node_id: str, url: str) -> None:
        reached.append((node_id, url))

    members = Members(identity=GATEWAY, registry=registry, links=links, places=places, reached=note)
    yield Made(members, registry, links, health, reached)
    await members.stop()
    await registry.stop()
    await links.close()


class TestMachineOf:
    def test_a_pinned_one(self):
        made = machine_of(pinned(slots=7, state="draining"))
        assert (made.id, made.name, made.url, made.trust) == (OTHER.id, "desk", HERE, "pinned")
        assert (made.slots, made.slots_set, made.draining, made.healthy) == (7, True, True, False)
        unsaid = machine_of(pinned())
        assert (unsaid.slots, unsaid.slots_set, unsaid.draining) == (DEFAULT_SLOTS, False, False)

    def test_an_open_one(self):
        made = machine_of(opened("http://10.0.0.9:8000/v1", kind="openai-compatible", slots=2))
        assert (made.name, made.trust, made.kind, made.slots) == ("attic", "open", "openai-compatible", 2)
        assert made.id == opened("http://10.0.0.9:8000/v1").id

    def test_what_is_outside_is_none_unless_the_administrator_lists_its_network(self):
        outside = opened("http://203.0.113.7:11434")
        with pytest.raises(ConfigError, match="not inside"):
            machine_of(outside)
        assert machine_of(outside, Inside((ip_network("203.0.113.0/24"),))).trust == "open"


async def test_machines_of_the_settings_and_of_decisions_are_asked_at_the_start(made: Made):
    rejected = opened("http://10.0.0.8:1", state="rejected")
    await made.start(pinned(), opened(), rejected, listed=[LISTED])
    assert made.well() == {LISTED.url: True, HERE: True, opened().url: True}
    assert [row.name for row in made.members.rows()] == ["desk", "attic", "attic"]
    assert made.members.get(rejected.id) == rejected
    assert (made.members.is_listed(LISTED.id), made.members.is_listed(OTHER.id)) == (True, False)


async def test_the_settings_go_before_a_decision_about_the_same_address(made: Made):
    row = opened(LISTED.url, name="mine", slots=1)
    await made.start(row, listed=[LISTED])
    (machine,) = made.registry.snapshot()
    assert (machine.name, machine.slots, made.members.is_listed(row.id)) == (LISTED.name, DEFAULT_SLOTS, True)


@pytest.mark.parametrize(
    "broken",
    [
        opened("http://203.0.113.7:11434"),  # its network is not listed any more
        opened("nonsense"),
        opened(ca="-----BEGIN CERTIFICATE-----\nx"),
        pinned(certificate=b"\x30\x03abc"),
        pinned(certificate=None),  # without a pin anybody would be trusted
    ],
)
async def test_one_row_that_makes_no_machine_costs_the_others_nothing(
    made: Made, broken: NodeRow, caplog: pytest.LogCaptureFixture
):
    good = opened("http://10.0.0.7:11434")
    await made.start(broken, good, listed=[LISTED])
    assert made.well() == {LISTED.url: True, good.url: True}
    assert made.members.get(broken.id) == broken  # so that it can be seen and removed
    (line,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert f"the machine {broken.name} cannot be used" in line.message


async def test_a_decision_holds_at_once(made: Made):
    await made.start()
    await made.members.take(pinned())
    await until(lambda: made.well() == {HERE: True})
    assert made.links.of(machine_of(pinned()))
    await made.members.take(pinned(state="draining"))
    assert made.registry.snapshot()[0].draining
    await made.members.take(pinned(state="revoked", certificate=None))
    assert made.registry.snapshot() == ()
    with pytest.raises(ConnectionError):
        made.links.of(machine_of(pinned()))
    assert made.members.get(OTHER.id) is not None
    await made.members.forget(OTHER.id)
    await made.members.forget(OTHER.id)
    assert made.members.rows() == ()


async def test_connections_go_on_while_only_other_things_are_decided(made: Made):
    await made.start(pinned())
    before = made.links.of(machine_of(pinned()))
    for change in ({"state": "draining"}, {"state": "admitted"}, {"name": "new"}, {"slots": 9}):
        await made.members.take(pinned(**change))
        assert made.links.of(machine_of(pinned())) is before
    assert not before.session.closed
    await made.members.take(pinned(certificate=GATEWAY.certificate))
    assert before.session.closed


async def test_a_pin_without_a_certificate_is_never_taken(made: Made):
    await made.start()
    with pytest.raises(ValueError, match="no certificate"):
        await made.members.take(pinned(certificate=None))
    assert made.registry.snapshot() == ()


class TestKeys:
    async def test_it_goes_with_every_request_after_a_start_and_after_a_decision(self, made: Made):
        await made.start(opened(sealed=b"1"), key="one")
        assert made.headers(opened()) == {"Authorization": "Bearer one"}
        await made.members.take(opened(sealed=b"2"), "two")
        assert made.headers(opened()) == {"Authorization": "Bearer two"}

    async def test_it_stays_over_a_decision_about_something_else(self, made: Made):
        await made.start(opened(sealed=b"1"), key="one")
        await made.members.take(opened(sealed=b"1", state="draining"))
        assert made.headers(opened()) == {"Authorization": "Bearer one"}

    async def test_one_that_was_taken_away_is_not_sent_any_more(self, made: Made):
        await made.start(opened(sealed=b"1"), key="one")
        await made.members.take(opened())
        assert made.headers(opened()) == {}

    async def test_it_is_gone_with_its_machine(self, made: Made):
        await made.start(opened(sealed=b"1"), key="one")
        await made.members.take(opened(sealed=b"1", state="rejected"))
        assert made.headers(opened()) == {}


async def test_another_way_to_speak_to_a_machine_is_used_at_once(made: Made):
    await made.start(opened())
    await made.members.take(opened(kind="openai-compatible"))
    await until(lambda: made.registry.snapshot()[0].healthy)
    assert made.registry.snapshot()[0].kind == "openai-compatible"


class TestMoving:
    async def test_a_machine_that_moved_is_found_where_it_is_heard_and_that_is_told(self, made: Made):
        await made.start(pinned())
        made.health.at = {THERE}
        made.registry.report_failure(OTHER.id, "gone")
        await until(lambda: made.well() == {HERE: False})
        made.members.heard_at(OTHER.id, [THERE])
        await until(lambda: made.well() == {THERE: True})
        await until(lambda: made.reached == [(OTHER.id, THERE)])
        row = made.members.get(OTHER.id)
        assert row is not None
        assert row.url == THERE

    async def test_one_that_answers_is_left_where_it_is_whatever_is_heard(self, made: Made):
        await made.start(pinned())
        asked = len(made.health.asked)
        made.members.heard_at(OTHER.id, [THERE])
        made.registry.probe_soon(OTHER.id)
        await until(lambda: len(made.health.asked) > asked)
        assert (made.well(), made.reached) == ({HERE: True}, [])
        assert THERE not in made.health.asked

    async def test_a_place_where_it_does_not_answer_changes_nothing(self, made: Made):
        made.health.at = set()
        await made.start(pinned())
        made.members.heard_at(OTHER.id, [THERE])
        await until(lambda: THERE in made.health.asked)
        assert (made.well(), made.reached) == ({HERE: False}, [])

    async def test_a_goodbye_puts_nobody_out(self, made: Made):
        await made.start(pinned())
        made.members.heard_at(OTHER.id, [HERE])
        made.members.heard_at(OTHER.id, [])
        assert made.well() == {HERE: True}

    async def test_where_an_administrator_says_that_it_is_is_no_news(self, made: Made):
        await made.start(pinned())
        await made.members.take(pinned(THERE))
        await until(lambda: made.health.asked[-1] == THERE)
        assert made.well() == {THERE: True}
        assert made.reached == []


class TestIsAlive:
    """Whether it is there, and shows the key that it was admitted with."""

    async def joined(self, at: Node) -> NodeRow:
        found = await join(HOST, at.join_port, gateway=GATEWAY, expected_id=at.id, way="key", secret=SECRET)
        return pinned(at.url, id=at.id, certificate=found.certificate)

    async def test_who_shows_its_key(self, made: Made, tmp_path: Path, ollama: OllamaDouble):
        async with node(tmp_path, ollama.url, Trusted(key=ClusterKey(GATEWAY.id, SECRET))) as at:
            row = await self.joined(at)
            await made.start(row)
            assert await made.members.is_alive(row)
            assert not await made.members.is_alive(replace(row, certificate=OTHER.certificate))
        assert not await made.members.is_alive(row)

    async def test_at_another_place_where_it_is_heard(self, made: Made, tmp_path: Path, ollama: OllamaDouble):
        async with node(tmp_path, ollama.url, Trusted(key=ClusterKey(GATEWAY.id, SECRET))) as at:
            row = await self.joined(at)
            gone = replace(row, url=f"https://127.0.0.9:{at.port}")
            await made.start(gone)
            assert not await made.members.is_alive(gone)
            made.members.heard_at(at.id, [at.url])
            assert await made.members.is_alive(gone)

    async def test_not_somebody_who_takes_connections_and_says_nothing(
        self, made: Made, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("appliance.cluster.members.ALIVE_SECONDS", 0.05)
        await made.start()
        async with stranger(HOST, 0, None) as seen:
            assert not await made.members.is_alive(pinned(f"https://{HOST}:{seen.port}"))
            assert seen.calls == 1
