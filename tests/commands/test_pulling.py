import asyncio
import io
import os
import pty
import termios
from dataclasses import replace
from typing import Any

import pytest

from appliance.admin.client import Client
from appliance.admin.node_wire import NewNode
from appliance.admin.pull_wire import NewPull, Pull
from appliance.admin.wire import InvalidInput, UnknownSubject
from appliance.commands import models, pulling
from appliance.commands.outcome import DONE, FAILED, Outcome
from appliance.commands.pulling import Meter
from appliance.errors import AdminError
from appliance.lanes.pulling import Progress, PullFailed
from tests.admin.cluster import LISTED
from tests.admin.played import Daemon
from tests.waiting import until

GIGABYTE = 1_000_000_000
PULL = Pull("pull_a", "qwen3:8b", "desk", "id", "running", "", 0, 0, "2026-11-29T18:57:03.120Z", None)


def going(status: str, completed: int = 0, total: int = 0) -> Pull:
    return replace(PULL, status=status, completed=completed, total=total)


class TestMeter:
    def shown(self, columns: int | None, *pulls: Pull) -> str:
        stream = io.StringIO()
        meter = Meter(stream, columns)
        for pull in pulls:
            meter.show(pull)
        meter.close()
        return stream.getvalue()

    def test_a_terminal_has_one_line_that_is_drawn_anew(self):
        part = "pulling 2bada8a74506"
        shown = self.shown(80, going("pulling manifest"), going(part, 2_100_000_000, 5_000_000_000), going("success"))
        assert shown.count("\n") == 1
        assert [line.rstrip() for line in shown.split("\r")] == [
            "",
            "pulling manifest",
            "42 %  2.1 GB of 5.0 GB  pulling 2bada8a74506",
            "success",
        ]
        # What is drawn covers what was there, and does not reach the last column.
        assert {len(line.removesuffix("\n")) for line in shown.split("\r")[1:]} == {79}

    @pytest.mark.parametrize("columns", [3, 20, 80])
    def test_it_is_never_wider_than_the_terminal(self, columns: int):
        shown = self.shown(columns, going("ｘ" * 200, 1, 2))
        assert len(shown.strip("\r\n")) < columns

    def test_elsewhere_it_is_a_line_for_every_change(self):
        part = "pulling 2bada8a74506"
        shown = self.shown(None, PULL, going(part, 1, 9), going(part, 2, 9), going("writing manifest", 9, 9))
        assert shown == "pulling 2bada8a74506\nwriting manifest\n"

    def test_what_does_not_change_is_not_drawn(self):
        assert self.shown(80, going("a"), going("a")).count("\r") == 1

    def test_nothing_a_terminal_obeys_is_drawn(self):
        assert "\x1b" not in self.shown(80, going("\x1b[2J", 1, 2)) + self.shown(None, going("\x1b[2J"))

    def test_a_note_has_a_line_of_its_own(self):
        stream = io.StringIO()
        meter = Meter(stream, 20)
        meter.show(going("a"))
        meter.note("It goes on.")
        assert stream.getvalue().split("\n") == ["\ra" + " " * 18, "It goes on.", ""]

    def test_nobody_reads_any_more(self):
        read, write = os.pipe()
        os.close(read)
        with open(write, "w", buffering=1) as stream:  # noqa: PTH123  an end of a pipe has no path
            Meter(stream, None).show(going("a"))
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class TestColumns:
    def test_of_no_terminal(self):
        assert pulling.columns_of(io.StringIO()) is None

    @pytest.mark.parametrize(("said", "columns"), [(123, 123), (0, 80)])
    def test_of_a_terminal(self, said: int, columns: int):
        outer, inner = pty.openpty()
        termios.tcsetwinsize(inner, (24, said))
        with open(inner, "w") as stream:  # noqa: PTH123  a terminal that has no path of ours
            assert pulling.columns_of(stream) == columns
        os.close(outer)


@pytest.mark.parametrize(
    ("pull", "line"),
    [
        (PULL, ""),
        (going("pulling manifest"), "pulling manifest"),
        (going("p", 0, 5), "0 %  0 B of 5 B  p"),
        (going("p", 999, 1000), "99 %  999 B of 1 kB  p"),
        (going("p", 5 * GIGABYTE, 5 * GIGABYTE), "100 %  5.0 GB of 5.0 GB  p"),
    ],
)
def test_how_far_it_is(pull: Pull, line: str):
    assert pulling.said(pull) == line


class Watch:
    """`synapse model pull` that somebody runs; `text` is its stderr."""

    def __init__(self, client: Client, name: str = "qwen3:8b", node: str | None = None) -> None:
        self.stream = io.StringIO()
        self.task = asyncio.ensure_future(self._run(client, name, node))

    async def _run(self, client: Client, name: str, node: str | None) -> Outcome:
        return await pulling.pull(client, name, node, Meter(self.stream, None), look_seconds=0.01)

    @property
    def text(self) -> str:
        return self.stream.getvalue()


class TestPull:
    async def test_it_is_watched_to_its_end(self, client: Client, listening: Daemon):
        watch = Watch(client)
        listening.puller.say("qwen3:8b", Progress("pulling 2bada8a74506", 1, 2))
        await until(lambda: "2bada8a74506" in watch.text)
        listening.puller.say("qwen3:8b", Progress("success", 2, 2), None)
        outcome = await watch.task
        assert (outcome.code, outcome.lines) == (DONE, (f"{LISTED.name} has qwen3:8b now.",))
        assert (outcome.document["state"], outcome.document["completed"]) == ("done", 2)
        assert watch.text.startswith(f"{LISTED.name} pulls qwen3:8b. Ctrl-C stops watching, and it goes on.\n")

    async def test_one_that_fails_says_why_and_what_to_do(self, client: Client, listening: Daemon):
        listening.puller.say("qwen3:8b", PullFailed("The machine says: no space left on device", advice="Empty it."))
        outcome = await Watch(client).task
        assert (outcome.code, outcome.lines, outcome.document["state"]) == (FAILED, (), "failed")
        said = f"{LISTED.name} did not get qwen3:8b. The machine says: no space left on device. Empty it."
        assert outcome.notes == (said,)

    async def test_one_that_somebody_cancels(self, client: Client, listening: Daemon):
        watch = Watch(client)
        await until(lambda: len(listening.puller.asked) == 1)
        [running] = (await client.pulls()).pulls
        await client.cancel_pull(running.id)
        outcome = await watch.task
        assert (outcome.code, outcome.notes) == (FAILED, (f"The pull of qwen3:8b on {LISTED.name} was cancelled.",))

    async def test_ctrl_c_leaves_it_running_and_the_same_again_watches_on(self, client: Client, listening: Daemon):
        watch = Watch(client, node=LISTED.name)
        await until(lambda: len(listening.puller.asked) == 1)
        listening.puller.say("qwen3:8b", Progress("pulling", 1, 2))
        await until(lambda: "pulling\n" in watch.text)
        watch.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch.task
        again = f"synapse model pull qwen3:8b --node {LISTED.name}"
        assert watch.text.endswith(f"{LISTED.name} goes on. To watch it again: {again}\n")
        assert [pull.state for pull in (await client.pulls()).pulls] == ["running"]
        watch = Watch(client)
        await until(lambda: watch.text != "")
        listening.puller.say("qwen3:8b", None)
        assert (await watch.task).code == DONE
        assert len(listening.puller.asked) == 1

    async def test_a_daemon_that_was_started_anew_knows_nothing_of_it(
        self, client: Client, listening: Daemon, monkeypatch: pytest.MonkeyPatch
    ):
        watch = Watch(client)
        await until(lambda: len(listening.puller.asked) == 1)
        monkeypatch.setattr(listening.parts.pulls, "_pulls", {})
        with pytest.raises(AdminError, match="knows nothing of the pull of qwen3:8b") as caught:
            await watch.task
        assert "same command" in caught.value.advice
        monkeypatch.undo()

    async def test_a_refusal_is_raised(self, client: Client):
        with pytest.raises(InvalidInput, match="Ollama's own cloud"):
            await Watch(client, "qwen3:480b-cloud").task


class TestCancel:
    @pytest.mark.parametrize("node", [None, LISTED.name, LISTED.id, f"syn-{LISTED.id[:12]}"])
    @pytest.mark.parametrize("name", ["qwen3", "qwen3:latest"])
    async def test_it_ends_the_one_that_runs(self, client: Client, listening: Daemon, name: str, node: str | None):
        await client.start_pull(NewPull("qwen3"))
        outcome = await pulling.cancel(client, name, node)
        assert (outcome.document["state"], outcome.lines) == (
            "cancelled",
            (f"{LISTED.name} does not pull qwen3 any more.",),
        )
        with pytest.raises(UnknownSubject, match='No machine is pulling "qwen3'):
            await pulling.cancel(client, name, node)

    @pytest.mark.parametrize("asked", [("other", None), ("qwen3", "attic")])
    async def test_nothing_like_it_runs(self, client: Client, asked: tuple[str, Any]):
        await client.start_pull(NewPull("qwen3"))
        with pytest.raises(UnknownSubject):
            await pulling.cancel(client, *asked)

    async def test_of_several_one_has_to_be_named(self, client: Client, listening: Daemon):
        attic = await client.add_node(NewNode("http://192.168.1.30:11434", name="attic"))
        await until(lambda: listening.cluster.registry.get(attic.id).healthy)  # type: ignore[union-attr]
        for where in (LISTED.id, attic.id):
            await client.start_pull(NewPull("qwen3", where))
        with pytest.raises(InvalidInput, match=f"2 machines pull qwen3: attic, {LISTED.name}."):
            await pulling.cancel(client, "qwen3", None)
        assert (await pulling.cancel(client, "qwen3", "attic")).document["node"] == "attic"


async def test_what_runs_is_in_the_list_of_models(client: Client, listening: Daemon):
    await client.start_pull(NewPull("qwen3:8b"))
    outcome = await models.show_all(client)
    assert outcome.lines[-1] == f"{LISTED.name} is pulling qwen3:8b: it begins"
    listening.puller.say("qwen3:8b", Progress("pulling 2bada8a74506", GIGABYTE, 4 * GIGABYTE))
    await until(lambda: listening.service.pulls.list_all().pulls[0].completed > 0)
    said = (await models.show_all(client)).lines[-1]
    assert said == f"{LISTED.name} is pulling qwen3:8b: 25 %  1.0 GB of 4.0 GB"
    listening.puller.say("qwen3:8b", None)
    await until(lambda: listening.service.pulls.list_all().pulls[0].state == "done")
    assert "pulling" not in "\n".join((await models.show_all(client)).lines)
