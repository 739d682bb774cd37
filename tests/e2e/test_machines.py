"""Machines on a LAN, each in a network namespace: found, let in, answering, and attacked.

Source: cluster.md. What must hold whatever happens on the network: no byte of a prompt to a machine that is not
pinned, and routing goes on.
"""

import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity
from tests.cluster.mdns import Peer, announcement, goodbye, peers, txt
from tests.e2e.lan_site import DATA_PORT, JOIN_PORT, Gateway, Machine, Trap
from tests.e2e.needs import need
from tests.netns import Lan, lan
from tests.waiting import wait_until

HEARD_SECONDS, MOST_SECONDS = 2.0, 5.0

CONNECT_SECONDS = 5.0
"""The limit `connect`, as it is by default."""

SLACK_SECONDS = 4.5
"""For the answers themselves, below a second time of the limit."""

CURL_GETS_NOTHING = (35, 52, 56)
"""curl(1): no TLS, an empty reply, a failure in receiving. In TLS 1.3 a server refuses a client that believes to be
connected already, so that it depends on the moment which of them it is."""


@dataclass
class Office:
    net: Lan
    gateway: Gateway
    a: Machine
    b: Machine
    c: Machine
    evil: Peer
    trap: Trap
    directory: Path

    @property
    def machines(self) -> tuple[Machine, ...]:
        return (self.a, self.b, self.c)

    def file(self, key: str) -> Path:
        """That holds this cluster key."""
        path = self.directory / "cluster.key"
        path.write_text(key)
        return path

    def poison(self, node_id: str, address: str) -> None:
        """Say on the network that a machine is where the evil one is."""
        said = {**txt(node_id), "st": "claimed"}
        packet = announcement(node_id, address, said=said)
        self.evil.do("send", packets=[packet], address=self.net.address("evil"))


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    need("curl")
    directory = tmp_path_factory.mktemp("office")
    with lan("gw", "a", "b", "c", "evil") as net, peers(net, "evil") as (evil,):
        a, b, c = (Machine(net, host, directory) for host in "abc")
        trap = Trap(net, "evil", directory, DATA_PORT, JOIN_PORT)
        made = Office(net, Gateway(net, directory), a, b, c, evil, trap, directory)
        for machine in made.machines:
            machine.start_engine()
        made.gateway.start()
        for machine in made.machines:
            wait_until(machine.engine_answers, 60)
        yield made
        made.gateway.stop()
        for machine in made.machines:
            if machine.agent is not None and machine.agent.process.poll() is None:
                machine.stop()
            assert machine.engine is not None
            machine.engine.stop()


def test_a_machine_is_heard_within_seconds(office: Office):
    took: list[float] = []
    for n in range(5):
        began = office.a.serve(state=office.directory / f"heard-{n}")
        found = office.gateway.wait_for("candidate")
        took.append(time.monotonic() - began)
        assert list(found.words) == office.a.words
        office.a.stop()
        wait_until(lambda: not office.gateway.nodes())
    assert statistics.median(took) < HEARD_SECONDS, took
    assert max(took) < MOST_SECONDS, took


def test_who_is_told_of_another_gateway_or_of_none_stays_a_candidate(office: Office):
    gateway, a = office.gateway, office.a
    gateway.json("cluster", "key", "new")
    a.serve()
    found = gateway.wait_for("candidate")
    wait_until(lambda: "told of no gateway" in gateway.why(found.id))
    refused = gateway.command("node", "admit", found.id, "--words", " ".join(a.words))
    assert refused.returncode == 1
    assert "--gateway-words" in refused.stderr
    a.stop()
    a.serve("--cluster-key-file", str(office.file(ClusterKey(Identity.create().id, bytes(20)).text())))
    wait_until(lambda: "told of another gateway" in gateway.why(found.id), 20)
    a.stop()
    gateway_id = gateway.admin(lambda client: client.nodes()).gateway_id
    a.serve("--cluster-key-file", str(office.file(ClusterKey(gateway_id, bytes(20)).text())))
    wait_until(lambda: "did not accept the gateway's proof" in gateway.why(found.id), 20)
    assert gateway.nodes()[found.id].state == "candidate"
    a.stop()
    wait_until(lambda: not gateway.nodes())


def test_three_machines_join_by_key_and_by_words_and_answer(office: Office):
    gateway = office.gateway
    file = str(office.file(gateway.json("cluster", "key", "new", "--uses", "2")["key"]))
    office.a.serve("--cluster-key-file", file)
    # Two machines with one name, which both answer, are two machines.
    office.b.serve("--cluster-key-file", file, name="twin")
    gateway.wait_for("active", name="a")
    gateway.wait_for("active", name="twin")
    words = " ".join(gateway.json("cluster", "words")["gateway_words"])
    office.c.serve("--gateway-words", words, name="twin")
    candidate = gateway.wait_for("candidate")
    assert gateway.command("node", "admit", candidate.id, "--words", "zoo " * 8).returncode == 2
    gateway.json("node", "admit", candidate.id, "--words", " ".join(office.c.words))
    gateway.wait_for("active", node_id=candidate.id)
    assert sorted(one.name for one in gateway.nodes().values()) == ["a", "twin", "twin"]
    for node_id, node in gateway.nodes().items():
        answered = gateway.answers(node_id)
        assert (answered["id"], answered["name"], answered["trust"]) == (node_id, node.name, "pinned")
        assert answered["engine"].startswith("synapse-engine/")


def test_a_forged_goodbye_puts_nobody_out(office: Office):
    a = office.gateway.named("a")
    for _ in range(3):
        office.evil.do("send", packets=[goodbye(a.id)], address=office.net.address("evil"))
    heard = time.monotonic() + 1.5  # what said goodbye is gone after a second (RFC 6762, 10.1)
    wait_until(lambda: time.monotonic() > heard)
    assert office.gateway.named("a").state == "active"
    assert office.gateway.answers(a.id)["id"] == a.id


def test_a_stranger_gets_nothing_from_a_node(office: Office):
    stranger = office.directory / "stranger.pem"
    stranger.write_bytes(Identity.create().pem())
    for shown in ((), ("--cert", str(stranger))):
        asked = ["curl", "-sk", "-m", "5", *shown, f"https://{office.net.address('a')}:{DATA_PORT}/api/tags"]
        done = subprocess.run(office.net.inside("evil", asked), capture_output=True, check=False, timeout=10)
        assert done.returncode in CURL_GETS_NOTHING
        assert done.stdout == b""


def test_a_poisoned_address_gets_no_byte_and_routing_goes_on(office: Office):
    gateway, a = office.gateway, office.gateway.named("a")
    office.poison(a.id, office.net.address("evil"))
    assert gateway.answers(a.id)["id"] == a.id  # it answers where it was
    office.a.kill()
    gateway.wait_for("unhealthy", name="a")
    wait_until(lambda: office.trap.calls > 0, 20)  # now it is looked for wherever it is said to be
    assert gateway.answered_by()["name"] == "twin"
    assert gateway.named("a").state == "unhealthy"
    office.a.serve()
    gateway.wait_for("active", name="a")
    assert gateway.answers(a.id)["id"] == a.id
    assert office.trap.heard == b""


def test_somebody_between_a_node_and_the_gateway_is_not_let_in(office: Office):
    """With an id that is another's, a key of his own, and a cluster key in force that lets machines in."""
    gateway, calls, fake = office.gateway, office.trap.calls, "b" * 51 + "a"
    gateway.json("cluster", "key", "new")
    office.poison(fake, office.net.address("evil"))
    wait_until(lambda: fake in gateway.nodes())
    wait_until(lambda: "Another machine answers" in gateway.why(fake), 20)
    assert gateway.nodes()[fake].state == "candidate"
    assert office.trap.calls > calls
    assert office.trap.heard == b""
    office.evil.do("send", packets=[goodbye(fake)], address=office.net.address("evil"))
    gateway.json("cluster", "key", "revoke")


def test_the_gateway_starts_again_and_knows_its_machines(office: Office):
    gateway = office.gateway
    before = {one.id for one in gateway.nodes().values() if one.state == "active"}
    gateway.stop()
    gateway.start()
    wait_until(lambda: {one.id for one in gateway.nodes().values() if one.state == "active"} == before, 20)
    assert gateway.answered_by()["id"] in before


def test_a_machine_that_moves_is_found_again(office: Office):
    a, old = office.gateway.named("a"), office.net.address("a")
    office.a.kill()
    office.net.move("a", 77)
    office.a.serve()
    wait_until(lambda: old not in office.gateway.named("a").url, 30)
    assert office.net.address("a") in office.gateway.wait_for("active", name="a").url
    assert office.gateway.answers(a.id)["id"] == a.id


def test_a_machine_that_is_killed_under_load_fails_no_call(office: Office):
    """Whole answers, of which nothing was forwarded yet (cluster.md, "Choosing a machine")."""
    gateway = office.gateway
    with ThreadPoolExecutor(8) as callers:
        calls = [callers.submit(gateway.ask, f"Count to {n}.", tokens=24) for n in range(24)]
        wait_until(lambda: sum(one.in_flight for one in gateway.nodes().values() if one.name == "twin") > 1)
        office.b.kill()
        answers = [call.result(60) for call in calls]
    assert [status for status, _, _ in answers] == [200] * 24
    office.b.serve(name="twin")
    wait_until(lambda: [one.state for one in gateway.nodes().values()] == ["active"] * 3, 20)


def test_a_machine_that_falls_asleep_delays_a_call_by_no_more_than_the_connect_limit(office: Office):
    """Nothing passes to it any more, on connections that were made before either; nobody is told."""
    gateway = office.gateway
    asleep = next(one for one in gateway.nodes().values() if office.net.address("c") in one.url)
    gateway.answers(asleep.id)
    office.net.cut("c")
    began = time.monotonic()
    with ThreadPoolExecutor(6) as callers:
        answers = [call.result(60) for call in [callers.submit(gateway.ask) for _ in range(6)]]
    took = time.monotonic() - began
    assert [status for status, _, _ in answers] == [200] * 6
    assert took < CONNECT_SECONDS + SLACK_SECONDS, took
    began = time.monotonic()
    assert gateway.ask()[0] == 200
    assert time.monotonic() - began < SLACK_SECONDS
    office.net.restore("c")
    wait_until(lambda: gateway.nodes()[asleep.id].state == "active", 30)


def test_a_known_name_with_a_new_key_is_changed_and_waits_for_a_decision(office: Office):
    gateway, old = office.gateway, office.gateway.named("a")
    file = office.file(gateway.json("cluster", "key", "new")["key"])
    office.a.stop()
    shutil.rmtree(office.a.state)
    office.a.serve("--cluster-key-file", str(file))
    changed = gateway.wait_for("changed")
    assert changed.id != old.id
    assert "another key" in (changed.why or "")
    assert gateway.answered_by()["name"] == "twin"
    gateway.json("node", "remove", old.id)
    gateway.json("node", "admit", changed.id, "--words", " ".join(office.a.words))
    gateway.wait_for("active", node_id=changed.id)
    assert gateway.answers(changed.id)["id"] == changed.id


def test_a_machine_that_is_put_out_is_not_called_again(office: Office):
    active = office.gateway.wait_for("active", name="a")
    office.gateway.json("node", "remove", active.id)
    assert office.gateway.nodes()[active.id].state == "revoked"
    assert office.gateway.answered_by()["name"] == "twin"
    assert office.gateway.nodes()[active.id].state == "revoked"
