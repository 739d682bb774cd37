import asyncio
import logging
import threading
from typing import Any

import pytest

from appliance.admin.node_wire import Admission, NewNode
from appliance.admin.pull_wire import NewPull, Pull
from appliance.admin.pulls import KEPT, Pulls
from appliance.admin.wire import InvalidInput, UnknownSubject
from appliance.cluster.addresses import id_at
from appliance.errors import AdminError, StorageUnavailable
from appliance.lanes.pulling import Progress, PullFailed
from appliance.store import audit
from tests.admin.cluster import LISTED
from tests.admin.nearby import OLLAMA, hear
from tests.admin.played import Daemon
from tests.waiting import until

QWEN = NewPull("qwen3:8b")
GIGABYTE = 1_000_000_000
NOW = "2026-11-29T18:57:03.120Z"
ATTIC = "http://192.168.1.30:11434"


@pytest.fixture
def pulls(daemon: Daemon) -> Pulls:
    return daemon.service.pulls


def one(pulls: Pulls, pull_id: str) -> Pull:
    return next(pull for pull in pulls.list_all().pulls if pull.id == pull_id)


async def ended(pulls: Pulls, pull: Pull) -> Pull:
    await until(lambda: one(pulls, pull.id).state != "running")
    return one(pulls, pull.id)


async def trail(daemon: Daemon) -> list[tuple[str, str, str, Any, Any]]:
    rows = await daemon.parts.database.read(lambda conn: audit.newest(conn, limit=99))
    pulls = [row for row in reversed(rows) if row.action.startswith("model.")]
    return [(row.who, row.action, row.subject, row.before, row.after) for row in pulls]


async def another(daemon: Daemon, url: str = ATTIC, **fields: Any) -> str:
    """Another machine in use; its id."""
    made = await daemon.service.nodes.add("zoe", NewNode(url, **fields))
    await until(lambda: any(node.id == made.id and node.state == "active" for node in shown(daemon)))
    return made.id


def shown(daemon: Daemon) -> tuple[Any, ...]:
    return daemon.service.nodes.list_all().nodes


class TestAPull:
    async def test_it_runs_in_the_background_and_says_how_it_goes(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        assert made == Pull(made.id, "qwen3:8b", LISTED.name, LISTED.id, "running", "", 0, 0, NOW, None)
        assert made.id.startswith("pull_")
        daemon.puller.say("qwen3:8b", Progress("pulling 2bada8a74506", GIGABYTE, 4 * GIGABYTE))
        await until(lambda: one(pulls, made.id).completed == GIGABYTE)
        now = one(pulls, made.id)
        assert (now.state, now.status, now.total) == ("running", "pulling 2bada8a74506", 4 * GIGABYTE)
        daemon.puller.say("qwen3:8b", Progress("success", 4 * GIGABYTE, 4 * GIGABYTE), None)
        last = await ended(pulls, made)
        assert (last.state, last.status, last.ended, last.problem) == ("done", "success", NOW, "")
        assert daemon.puller.asked == [(LISTED.name, "qwen3:8b")]

    async def test_the_machine_is_asked_what_it_has_at_once(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        daemon.puller.say("qwen3:8b", PullFailed("No."))
        await ended(pulls, made)
        assert daemon.puller.looked_at == []
        made = await pulls.start("zoe", QWEN)
        daemon.puller.say("qwen3:8b", None)
        await ended(pulls, made)
        assert daemon.puller.looked_at == [LISTED.id]

    async def test_who_started_and_who_cancelled_is_written_down(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        await pulls.start("amy", QWEN)
        await pulls.cancel("amy", made.id)
        where = {"node": LISTED.name, "node_id": LISTED.id}
        assert await trail(daemon) == [
            ("zoe", "model.pull", "qwen3:8b", None, where),
            ("amy", "model.pull-cancel", "qwen3:8b", where, None),
        ]

    async def test_one_that_fails_says_why(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        daemon.puller.say("qwen3:8b", PullFailed("The machine says: \x1b[31mno", advice="Check."))
        last = await ended(pulls, made)
        assert (last.state, last.problem, last.advice) == ("failed", "The machine says: \\x1b[31mno", "Check.")

    async def test_a_fault_of_ours_leaves_nothing_running(
        self, daemon: Daemon, pulls: Pulls, caplog: pytest.LogCaptureFixture
    ):
        made = await pulls.start("zoe", QWEN)
        daemon.puller.say("qwen3:8b", ZeroDivisionError())
        last = await ended(pulls, made)
        assert (last.state, last.advice) == ("failed", "Its log says where.")
        await until(lambda: "ZeroDivisionError" in caplog.text)
        assert (await pulls.start("zoe", NewPull("other"))).state == "running"

    async def test_what_a_machine_says_is_made_fit_to_be_shown(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        daemon.puller.say("qwen3:8b", Progress("\x1b[2J" + "x" * 200, 0, 0))
        await until(lambda: one(pulls, made.id).status != "")
        assert one(pulls, made.id).status == "\\x1b[2J" + "x" * 73

    async def test_its_end_is_in_the_log(self, daemon: Daemon, pulls: Pulls, caplog: pytest.LogCaptureFixture):
        caplog.set_level(logging.INFO)
        made = await pulls.start("zoe", QWEN)
        daemon.puller.say("qwen3:8b", None)
        await ended(pulls, made)
        assert f"the pull of qwen3:8b on machine {LISTED.name} is done" in caplog.text

    async def test_what_cannot_be_written_down_does_not_begin(self, daemon: Daemon, pulls: Pulls):
        await daemon.parts.database.close()
        with pytest.raises(StorageUnavailable):
            await pulls.start("zoe", QWEN)
        assert (pulls.list_all().pulls, daemon.puller.asked) == ((), [])


class TestList:
    async def test_it_is_newest_first(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        daemon.puller.say("qwen3:8b", None)
        await ended(pulls, made)
        again = await pulls.start("zoe", NewPull("llama3.2"))
        assert [pull.id for pull in pulls.list_all().pulls] == [again.id, made.id]

    async def test_those_that_ended_last_are_kept(self, daemon: Daemon, pulls: Pulls):
        long = await pulls.start("zoe", NewPull("long", LISTED.id))
        attic = await another(daemon)
        for count in range(KEPT + 2):
            made = await pulls.start("zoe", NewPull(f"m{count}", attic))
            daemon.puller.say(made.name, None)
            await ended(pulls, made)
        names = [pull.name for pull in pulls.list_all().pulls]
        assert names == [*(f"m{count}" for count in range(KEPT + 1, 1, -1)), "long"]
        daemon.puller.say("long", None)
        assert (await ended(pulls, long)).state == "done"
        names = [pull.name for pull in pulls.list_all().pulls]
        assert names == [*(f"m{count}" for count in range(KEPT + 1, 2, -1)), "long"]


class TestOneAtATime:
    @pytest.mark.parametrize(("name", "again"), [("qwen3:8b", "qwen3:8b"), ("qwen3", "qwen3:latest")])
    async def test_the_same_again_is_the_one_that_runs(self, daemon: Daemon, pulls: Pulls, name: str, again: str):
        made = await pulls.start("zoe", NewPull(name))
        daemon.puller.say(name, Progress("pulling", 1, 2))
        await until(lambda: one(pulls, made.id).completed == 1)
        # Also while its machine is too busy with it to answer.
        daemon.cluster.registry.report_failure(LISTED.id, "it did not answer in time")
        assert await pulls.start("amy", NewPull(again)) == one(pulls, made.id)
        assert len(daemon.puller.asked) == 1

    async def test_two_at_once_start_one(self, daemon: Daemon, pulls: Pulls):
        first, second = await asyncio.gather(pulls.start("zoe", QWEN), pulls.start("amy", QWEN))
        assert first.id == second.id
        assert len(await trail(daemon)) == 1

    async def test_another_on_that_machine_is_refused(self, daemon: Daemon, pulls: Pulls):
        await pulls.start("zoe", QWEN)
        with pytest.raises(AdminError) as caught:
            await pulls.start("zoe", NewPull("llama3.2"))
        assert caught.value.message == f"{LISTED.name} is pulling qwen3:8b now, and pulls one model at a time."
        assert "synapse model pull qwen3:8b --cancel" in caught.value.advice

    async def test_other_machines_pull_beside_it(self, daemon: Daemon, pulls: Pulls):
        attic = await another(daemon)
        made = [await pulls.start("zoe", NewPull("qwen3:8b", where)) for where in (LISTED.id, attic)]
        await until(lambda: len(daemon.puller.asked) == 2)
        assert [one(pulls, pull.id).state for pull in made] == ["running", "running"]


class TestCancel:
    async def test_the_machine_stops_and_is_free_again(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        await until(lambda: len(daemon.puller.asked) == 1)
        gone = await pulls.cancel("amy", made.id)
        assert (gone.state, gone.ended, gone.problem) == ("cancelled", NOW, "")
        assert daemon.puller.left == 1
        assert one(pulls, made.id) == gone
        assert (await pulls.start("zoe", NewPull("llama3.2"))).state == "running"

    async def test_one_that_has_not_begun(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        assert daemon.puller.asked == []
        assert (await pulls.cancel("amy", made.id)).state == "cancelled"
        assert (await pulls.start("zoe", QWEN)).id != made.id

    async def test_one_that_ends_while_it_is_written_down(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        await until(lambda: len(daemon.puller.asked) == 1)
        go = threading.Event()
        busy = asyncio.ensure_future(daemon.parts.database.write(lambda _: go.wait()))
        cancelling = asyncio.ensure_future(pulls.cancel("amy", made.id))
        daemon.puller.say("qwen3:8b", None)
        last = await ended(pulls, made)
        go.set()
        assert (last.state, await cancelling, await busy) == ("done", last, True)

    @pytest.mark.parametrize("fault", [PullFailed("The connection broke."), ZeroDivisionError()])
    async def test_one_that_fails_over_being_broken_off_stays_cancelled(
        self, daemon: Daemon, pulls: Pulls, caplog: pytest.LogCaptureFixture, fault: Exception
    ):
        # As where its connection breaks, or a timeout runs out, in the moment in which it is closed.
        daemon.puller.over_the_end = fault
        made = await pulls.start("zoe", QWEN)
        await until(lambda: len(daemon.puller.asked) == 1)
        gone = await pulls.cancel("amy", made.id)
        assert one(pulls, made.id) == gone
        assert (gone.state, gone.problem) == ("cancelled", "")
        assert "KeyError" not in caplog.text
        assert [pull.id for pull in pulls.list_all().pulls] == [made.id]
        assert (await pulls.start("zoe", NewPull("llama3.2"))).state == "running"

    async def test_what_a_machine_still_says_changes_nothing(self, daemon: Daemon, pulls: Pulls):
        daemon.puller.over_the_end = Progress("pulling 2bada8a74506", 1, 2)
        made = await pulls.start("zoe", QWEN)
        await until(lambda: len(daemon.puller.asked) == 1)
        gone = await pulls.cancel("amy", made.id)
        assert daemon.puller.left == 1
        assert one(pulls, made.id) == gone
        assert (gone.state, gone.completed) == ("cancelled", 0)

    async def test_twice_or_what_is_none(self, daemon: Daemon, pulls: Pulls):
        made = await pulls.start("zoe", QWEN)
        await pulls.cancel("amy", made.id)
        with pytest.raises(AdminError, match="ended already"):
            await pulls.cancel("amy", made.id)
        with pytest.raises(UnknownSubject, match="There is no pull"):
            await pulls.cancel("amy", "pull_x")
        assert len(await trail(daemon)) == 2

    async def test_all_end_with_the_daemon(self, daemon: Daemon, pulls: Pulls):
        await pulls.start("zoe", QWEN)
        await until(lambda: len(daemon.puller.asked) == 1)
        await pulls.stop()
        assert daemon.puller.left == 1


class TestWhere:
    @pytest.mark.parametrize("named", [None, LISTED.id, LISTED.id[:12], LISTED.name])
    async def test_by_id_or_name_or_the_only_one(self, pulls: Pulls, named: str | None):
        assert (await pulls.start("zoe", NewPull("m", named))).node_id == LISTED.id

    async def test_of_several_one_has_to_be_named(self, daemon: Daemon, pulls: Pulls):
        await another(daemon, name="attic")
        with pytest.raises(AdminError) as caught:
            await pulls.start("zoe", QWEN)
        assert caught.value.message == f"2 machines run Ollama: {LISTED.name}, attic."
        assert "--node NAME" in caught.value.advice
        assert (await pulls.start("zoe", NewPull("m", "attic"))).node == "attic"

    async def test_of_several_with_one_name_the_ids_are_told(self, daemon: Daemon, pulls: Pulls):
        await another(daemon, name=LISTED.name)
        with pytest.raises(AdminError) as caught:
            await pulls.start("zoe", QWEN)
        assert caught.value.message == f"2 machines run Ollama: {LISTED.id[:16]}, {id_at(ATTIC)[:16]}."

    async def test_there_is_none(self, daemon: Daemon, pulls: Pulls):
        daemon.cluster.registry.remove(LISTED.id)
        with pytest.raises(AdminError, match="No machine that runs Ollama is in use"):
            await pulls.start("zoe", QWEN)

    async def test_servers_of_another_kind_are_none(self, daemon: Daemon, pulls: Pulls):
        rack = await another(daemon, "http://192.168.1.40:8000/v1", kind="openai-compatible", name="rack")
        assert (await pulls.start("zoe", QWEN)).node_id == LISTED.id
        with pytest.raises(AdminError) as caught:
            await pulls.start("zoe", NewPull("m", rack))
        assert caught.value.message == "rack does not run Ollama, and cannot be told to fetch a model."

    async def test_candidates_and_those_that_were_put_out(self, daemon: Daemon, pulls: Pulls):
        hear(daemon.cluster, OLLAMA)
        await until(lambda: any(node.state == "candidate" for node in shown(daemon)))
        attic = id_at(ATTIC)
        with pytest.raises(AdminError) as caught:
            await pulls.start("zoe", NewPull("m", attic))
        assert caught.value.advice == f"synapse node admit {attic[:16]} lets it in."
        assert (await pulls.start("zoe", QWEN)).node_id == LISTED.id
        await daemon.service.nodes.admit("zoe", Admission(attic))
        await until(lambda: any(node.id == attic and node.state == "active" for node in shown(daemon)))
        await daemon.service.nodes.remove("zoe", attic)
        with pytest.raises(AdminError, match="is not in use"):
            await pulls.start("zoe", NewPull("m", attic))

    async def test_one_that_is_not_well(self, daemon: Daemon, pulls: Pulls):
        daemon.cluster.health.ill[LISTED.id] = "it did not answer in time"
        daemon.cluster.registry.probe_soon(LISTED.id)
        await until(lambda: shown(daemon)[0].state == "unhealthy")
        with pytest.raises(AdminError) as caught:
            await pulls.start("zoe", QWEN)
        assert caught.value.message == f"{LISTED.name} cannot pull now: it did not answer in time."

    async def test_one_that_gets_no_more_calls_can_pull(self, daemon: Daemon, pulls: Pulls):
        attic = await another(daemon)
        await daemon.service.nodes.drain("zoe", attic, on=True)
        assert (await pulls.start("zoe", NewPull("m", attic))).node_id == attic

    @pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 257, "qwen3:480b-cloud", "gpt-oss:120b-CLOUD", "a:cloud"])
    async def test_what_is_no_model_or_leaves_the_building(self, daemon: Daemon, pulls: Pulls, name: str):
        with pytest.raises(InvalidInput):
            await pulls.start("zoe", NewPull(name))
        with pytest.raises(UnknownSubject):
            await pulls.start("zoe", NewPull("m", "nowhere"))
        assert (await trail(daemon), daemon.puller.asked) == ([], [])
