"""The typed client against a real socket; and against sockets where no daemon, or a strange one, answers."""

import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.admin.peers import login_of
from appliance.admin.policy_wire import NewProvider, Price, ProviderCheck
from appliance.admin.pull_wire import NewPull, PullList
from appliance.errors import AdminError
from appliance.lanes.pulling import Progress
from tests.admin.played import MACHINE, Daemon
from tests.admin.strangers import answering


async def test_every_operation(client: Client, listening: Daemon):
    assert [row.name for row in (await client.workspaces()).workspaces] == ["default"]
    assert [row.name for row in (await client.users()).users] == ["admin"]
    assert (await client.create_workspace("legal")).name == "legal"
    assert (await client.create_user("Zoé / 2")).name == "Zoé / 2"

    made = await client.create_key(wire.NewKey("laptop", user="Zoé / 2", workspace="legal", scopes=("proofs",)))
    assert made.secret.startswith("sk_live_")
    assert (await client.keys()).keys == (replace(made.key, used_milli=0),)
    assert (await client.revoke_key("laptop")).state == "revoked"

    assert (await client.models()).machines == (MACHINE,)
    assert (await client.set_model("full", "a/b:latest")).roles[0].configured == "a/b:latest"
    assert (await client.unset_model("full")).roles[0].configured is None

    listening.proofs.add(3)
    page = await client.proofs(limit=2)
    assert [row.index for row in page.proofs] == [2, 1]
    assert [row.index for row in (await client.proofs(before=page.next_before)).proofs] == [0]
    assert [row.index for row in (await client.proofs()).proofs] == [2, 1, 0]
    assert await client.proof(page.proofs[0].id) == listening.proofs.files[page.proofs[0].id]
    assert await client.proof_keys() == b'{"keys":[]}'

    assert (await client.status()).version == "0.1.0"

    pull = await client.start_pull(NewPull("qwen3:8b"))
    assert (await client.pulls()).pulls == (pull,)
    assert (await client.cancel_pull(pull.id)).state == "cancelled"


async def test_what_administrators_have_changed(client: Client):
    await client.create_workspace("legal")
    await client.create_workspace("tax")
    page = await client.changes(limit=1)
    assert [(row.action, row.before, row.after) for row in page.changes] == [
        ("workspace.create", None, '{"name":"tax"}')
    ]
    (older, *_) = (await client.changes(before=page.next_before)).changes
    assert (older.who, older.after) == (login_of(os.getuid()), '{"name":"legal"}')


async def test_the_second_of_two_who_edit_a_list_is_told(client: Client):
    both_saw = (await client.policy()).revision
    first = await client.set_allow_list(("ollama",), seen=both_saw)
    assert first.revision > both_saw
    with pytest.raises(wire.Conflict, match="has changed the policy meanwhile"):
        await client.clear_allow_list(seen=both_saw)
    assert (await client.policy()).allow == ("ollama",)
    assert (await client.clear_allow_list(seen=first.revision)).allow is None


async def test_the_second_of_two_who_change_anything_else_is_told(client: Client):
    models, shield, providers = await client.models(), await client.shield(), await client.providers()
    new = NewProvider("rack", "openai-compatible", "https://rack.example.com/v1", "sk-1", seen=providers.revision)
    assert (await client.set_model("full", "a", seen=models.revision)).revision > models.revision
    assert (await client.set_shield_mode("medical", seen=shield.revision)).revision > shield.revision
    await client.put_provider(new)
    assert (await client.providers()).revision > providers.revision
    for second in (
        client.set_model("full", "b", seen=models.revision),
        client.unset_model("full", seen=models.revision),
        client.set_shield_mode("off", seen=shield.revision),
        client.put_provider(new),
        client.remove_provider("rack", seen=providers.revision),
    ):
        with pytest.raises(wire.Conflict, match="meanwhile"):
            await second
    assert (await client.models()).roles[0].configured == "a"
    assert [one.name for one in (await client.providers()).providers] == ["rack"]


class TestEvents:
    async def test_a_snapshot_and_then_what_changes(self, client: Client, listening: Daemon):
        async with contextlib.aclosing(client.events()) as events:
            first = await anext(events)
            assert first.status == await client.status()
            assert first.nodes == await client.nodes()
            listening.activity.running = 2
            second = await anext(events)
            assert second.status is not None
            assert second.status.calls_in_flight == 2
            assert (second.nodes, second.last_change) == (None, None)
            await client.create_workspace("legal")
            assert first.last_change is not None
            assert (await anext(events)).last_change == first.last_change + 1

    async def test_a_pull_and_how_it_goes(self, client: Client, listening: Daemon):
        async with contextlib.aclosing(client.events()) as events:
            assert (await anext(events)).pulls == PullList(())
            started = await client.start_pull(NewPull("qwen3:8b"))
            listening.puller.say("qwen3:8b", Progress("pulling 2bada8a74506", 1_000, 4_000))
            seen = started
            async for event in events:
                (seen,) = event.pulls.pulls if event.pulls else (seen,)
                if seen.completed == 1_000:
                    listening.puller.say("qwen3:8b", None)
                if seen.state == "done":
                    break
            assert (seen.id, seen.status, seen.total) == (started.id, "pulling 2bada8a74506", 4_000)

    async def test_a_daemon_that_stops_ends_them(self, client: Client, listening: Daemon):
        async with contextlib.aclosing(client.events()) as events:
            await anext(events)
            listening.events.close()
            with pytest.raises(StopAsyncIteration):
                await anext(events)


async def test_every_operation_on_providers_and_policy(client: Client, listening: Daemon):
    new = NewProvider("rack", "openai-compatible", "https://rack.example.com/v1", "sk-1", "qwen3", "small")
    put = await client.put_provider(new)
    assert (put.before, put.new_key, put.provider.full_price) == (None, True, Price(100_000, 200_000))
    assert (await client.providers()).providers == (put.provider,)
    assert await client.test_provider("rack") == ProviderCheck(True)
    assert [asked.key for asked in listening.checker.asked] == ["sk-1"]

    assert (await client.set_active("rack")).active == "rack"
    await client.create_workspace("a/b & c")
    listed = await client.set_allow_list(("ollama", "rack"), "a/b & c")
    assert (listed.workspace, listed.allow) == ("a/b & c", ("ollama", "rack"))
    assert await client.policy("a/b & c") == listed
    assert (await client.policy()).allow is None
    assert (await client.clear_allow_list("a/b & c")).allow is None
    assert (await client.set_allow_list(("rack",))).allow == ("rack",)
    assert (await client.clear_allow_list()).workspace == "default"
    assert (await client.set_unscannable("allow")).unscannable == "allow"
    assert (await client.set_sensitive_on_open("allow")).sensitive_on_open == "allow"

    gone = await client.remove_provider("rack")
    assert (gone.provider.name, gone.active) == ("rack", True)
    assert (await client.providers()).providers == ()


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (lambda client: client.create_key(wire.NewKey("a", user="x")), wire.UnknownSubject, 'There is no user "x".'),
        (lambda client: client.create_user(""), wire.InvalidInput, "That is no name."),
        (lambda client: client.policy("\udc80"), wire.InvalidInput, "A name is not text in UTF-8."),
        (lambda client: client.policy("x"), wire.UnknownSubject, 'There is no workspace "x".'),
        (lambda client: client.test_provider("x"), wire.UnknownSubject, 'There is no provider "x".'),
        (lambda client: client.create_user("\udc80"), wire.InvalidInput, "A name is not text in UTF-8."),
        (lambda client: client.create_user("admin"), AdminError, 'There is a user "admin" already.'),
        (lambda client: client.set_model("a/b?c", "x"), wire.UnknownSubject, "The daemon has no /admin/v1/models/a/b"),
        (lambda client: client.set_model("big", "x"), wire.InvalidInput, 'There is no role "big".'),
        (lambda client: client.proof("../keys"), wire.UnknownSubject, 'There is no certificate "../keys".'),
        (lambda client: client.proof(".."), wire.UnknownSubject, 'There is no certificate "..".'),
        (lambda client: client.proof("a/b"), wire.UnknownSubject, 'There is no certificate "a/b".'),
        (lambda client: client.proof("keys"), wire.UnknownSubject, 'There is no certificate "keys".'),
        (lambda client: client.proof("prf_x?y"), wire.UnknownSubject, 'There is no certificate "prf_x?y".'),
        (lambda client: client.proof("prf_" * 9_999), wire.UnknownSubject, f'There is no certificate "{"prf_" * 16}".'),
        (lambda client: client.create_user("x" * 70_000), AdminError, "The body is larger than 65536 bytes."),
        (lambda client: client.proof("prf_é"), wire.UnknownSubject, 'There is no certificate "prf_é".'),
    ],
)
async def test_a_refusal_is_raised_as_what_it_is(
    client: Client, ask: Callable[[Client], AsyncIterator[object]], kind: type[AdminError], message: str
):
    with pytest.raises(AdminError) as caught:
        await ask(client)  # type: ignore[misc]  any operation
    assert type(caught.value) is kind
    assert caught.value.message.startswith(message)
    assert caught.value.advice


class TestNobodyThere:
    async def refused(self, path: Path) -> AdminError:
        with pytest.raises(AdminError) as caught:
            async with Client(path, timeout=5) as client:
                await client.status()
        return caught.value

    async def test_no_socket(self, tmp_path: Path):
        error = await self.refused(tmp_path / "admin.sock")
        assert isinstance(error, wire.DaemonDown)
        assert error.message == f"The daemon is not running (no answer on {tmp_path / 'admin.sock'})."
        assert error.advice.startswith("Start it: ")

    async def test_a_socket_that_a_dead_daemon_left(self, tmp_path: Path):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(tmp_path / "admin.sock"))
        assert isinstance(await self.refused(tmp_path / "admin.sock"), wire.DaemonDown)


class TestStrangeAnswers:
    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (b"", "The daemon did not answer properly on "),
            (b"HELLO\r\n\r\n", "The daemon did not answer properly on "),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "The daemon did not answer properly on "),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "The daemon answered in a form that this command does"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "The daemon answered in a form that this command does"),
            (b"HTTP/1.1 502 Bad\r\nContent-Length: 1\r\n\r\nx", "The daemon answered with status 502."),
            (b"HTTP/1.1 500 Bad\r\nContent-Length: 2\r\n\r\n{}", "The daemon answered with status 500."),
        ],
    )
    async def test_each_is_one_clear_error(self, tmp_path: Path, answer: bytes, message: str):
        async with answering(tmp_path / "admin.sock", answer) as path:
            with pytest.raises(AdminError) as caught:
                async with Client(path, timeout=5) as client:
                    await client.status()
        assert caught.value.message.startswith(message)
        assert caught.value.advice

    @pytest.mark.parametrize(
        ("status", "advice"), [(413, "Shorten"), (431, "Shorten"), (500, "Look in its log."), (502, "Look in its log.")]
    )
    async def test_a_status_alone_has_a_next_step(self, tmp_path: Path, status: int, advice: str):
        async with answering(tmp_path / "admin.sock", b"HTTP/1.1 %d X\r\n\r\n" % status) as path:
            with pytest.raises(AdminError) as caught:
                async with Client(path, timeout=5) as client:
                    await client.status()
        assert caught.value.advice.startswith(advice)

    async def test_a_daemon_that_hangs(self, tmp_path: Path):
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(tmp_path / "admin.sock"))
            silent.listen()
            with pytest.raises(AdminError, match=r"did not answer properly .* \(.*Timeout"):
                async with Client(tmp_path / "admin.sock", timeout=0.2) as client:
                    await client.status()


async def test_outside_of_its_block_it_is_a_mistake_of_the_program(tmp_path: Path):
    with pytest.raises(RuntimeError, match="async with"):
        await Client(tmp_path / "admin.sock").status()
