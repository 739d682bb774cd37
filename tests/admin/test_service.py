import asyncio
import os
from dataclasses import replace
from datetime import timedelta

import pytest

from appliance.admin import wire
from appliance.admin.policy_wire import (
    NewActive,
    NewAllowList,
    NewChoice,
    NewProvider,
    OldProvider,
    Price,
    ProviderCheck,
)
from appliance.errors import StateError, StorageUnavailable
from appliance.store import audit
from appliance.store.sealing import Sealer
from tests.admin.played import MACHINE, Daemon


async def test_a_status_has_lanes_machines_mode_keys_and_last_calls(daemon: Daemon):
    # operations.md, "Commands": `synapse status`: lanes, nodes, mode, keys, last calls.
    calls = [
        wire.Call("2026-11-29T18:57:03.120Z", f"prf_{n}", "default", "simple", "m", "box", "complete", 1, 2, 3)
        for n in range(9)
    ]
    daemon.activity.calls, daemon.activity.running = calls, 2
    await daemon.service.create_key("zoe", wire.NewKey("a"))
    assert await daemon.service.status() == wire.Status(
        version="0.1.0",
        pid=os.getpid(),
        started="2026-11-29T15:45:03.120Z",
        app_mode="local",
        base_url="http://192.168.1.5:8787/v1",
        shield_mode="standard",
        active_provider="ollama",
        lanes=(wire.Lane("ollama", local=True, ready=True, machines=1, model="smollm2:latest"),),
        machines=(MACHINE,),
        keys=wire.KeyCount(active=1, expired=0, revoked=0),
        calls_in_flight=2,
        last_calls=tuple(calls[:5]),
    )


async def test_a_lane_that_is_not_ready_names_its_full_model_and_says_why(daemon: Daemon):
    await daemon.service.set_model("zoe", "full", wire.NewModel("qwen3:4b"))
    daemon.lane_problem = "no machine has the full model 'qwen3:4b'"
    (lane,) = (await daemon.service.status()).lanes
    assert lane == wire.Lane(
        "ollama",
        local=True,
        ready=False,
        machines=1,
        model="qwen3:4b",
        why="no machine has the full model 'qwen3:4b'",
    )


async def test_a_key_expires_as_time_passes(daemon: Daemon):
    await daemon.service.create_key("zoe", wire.NewKey("a", expires="2026-11-30T00:00:00Z"))
    assert [key.state for key in (await daemon.service.keys()).keys] == ["active"]
    daemon.now += timedelta(days=1)
    assert [key.state for key in (await daemon.service.keys()).keys] == ["expired"]


async def test_every_change_names_who_asked_and_tells_the_daemon(daemon: Daemon):
    service = daemon.service
    key = (await service.create_key("zoe", wire.NewKey("a"))).key
    await service.revoke_key("ann", key.id)
    workspace = await service.create_workspace("zoe", wire.NewName("legal"))
    user = await service.create_user("zoe", wire.NewName("bob"))
    await service.set_model("ann", "fast", wire.NewModel("qwen3:4b"))
    await service.unset_model("ann", "fast")
    await service.set_shield_mode("zoe", wire.NewShieldMode("medical"))
    assert daemon.told == 7
    assert daemon.changes > daemon.told  # how the shield is now is read anew too
    rows = await daemon.parts.database.read(lambda conn: audit.newest(conn, limit=7))
    assert [(row.who, row.action, row.subject) for row in reversed(rows)] == [
        ("zoe", "key.create", key.id),
        ("ann", "key.revoke", key.id),
        ("zoe", "workspace.create", workspace.id),
        ("zoe", "user.create", user.id),
        ("ann", "model.set", "fast"),
        ("ann", "model.unset", "fast"),
        ("zoe", "shield.set", "mode"),
    ]


async def test_the_shield_is_described_and_whether_its_mode_was_set(daemon: Daemon):
    assert (await daemon.service.shield()).set is False
    assert (await daemon.service.set_shield_mode("zoe", wire.NewShieldMode("standard"))).set is True


async def test_a_revision_is_never_newer_than_what_is_shown(daemon: Daemon):
    async def between() -> None:
        """As far as the daemon is concerned, this is where somebody else's change is taken up."""
        if not moved:
            moved.append(1)
            await daemon.service.set_shield_mode("rita", wire.NewShieldMode("medical"))

    before, moved = await daemon.service.shield(), list[int]()
    daemon.parts = replace(daemon.parts, changed=between)
    seen = (await daemon.service.shield()).revision
    assert (moved, seen) == ([1], before.revision)
    with pytest.raises(wire.Conflict):
        await daemon.service.set_shield_mode("zoe", wire.NewShieldMode("off", seen))


async def test_a_text_that_is_tried_leaves_no_trace(daemon: Daemon):
    before = await daemon.parts.database.read(lambda conn: list(conn.iterdump()))
    answer = await daemon.service.test_shield(wire.ShieldQuestion("my secret"))
    assert (answer.masked, daemon.shield.tested) == ("my [EMAIL_aaaaaaaa]", ["my secret"])
    assert await daemon.parts.database.read(lambda conn: list(conn.iterdump())) == before


async def test_a_refused_change_leaves_no_trace(daemon: Daemon):
    before = await daemon.parts.database.read(lambda conn: list(conn.iterdump()))
    with pytest.raises(wire.UnknownSubject):
        await daemon.service.create_key("zoe", wire.NewKey("a", user="nobody"))
    assert await daemon.parts.database.read(lambda conn: list(conn.iterdump())) == before
    assert daemon.changes == 0


async def test_two_at_once_cannot_take_one_name(daemon: Daemon):
    made = await asyncio.gather(
        *(daemon.service.create_user("zoe", wire.NewName("bob")) for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(one, wire.Named) for one in made) == 1
    assert [row.name for row in (await daemon.service.users()).users] == ["admin", "bob"]


async def test_a_change_that_cannot_be_stored_is_refused(daemon: Daemon):
    await daemon.parts.database.close()
    with pytest.raises(StorageUnavailable):
        await daemon.service.create_user("zoe", wire.NewName("bob"))
    assert daemon.changes == 0


async def test_models_come_with_what_the_machines_have(daemon: Daemon):
    daemon.machines.machines = [MACHINE, replace(MACHINE, id="url-2", healthy=False, why="does not answer")]
    await daemon.service.set_model("zoe", "local", wire.NewModel("qwen3:4b"))
    found = await daemon.service.models()
    assert [(role.role, role.effective, role.available) for role in found.roles] == [
        ("full", "smollm2:latest", True),
        ("fast", "smollm2:latest", True),
        ("local", "qwen3:4b", False),
        ("embedding", None, False),
    ]
    assert [machine.why for machine in found.machines] == [None, "does not answer"]


class TestProofs:
    async def test_pages_are_newest_first_and_meet_without_gap(self, daemon: Daemon):
        daemon.proofs.add(5)
        seen: list[int] = []
        before: int | None = None
        for expected in ((4, 3), (2, 1), (0,)):
            page = await daemon.service.proofs(2, before)
            assert tuple(row.index for row in page.proofs) == expected
            seen += expected
            before = page.next_before
        assert seen == [4, 3, 2, 1, 0]
        assert before is None

    async def test_a_full_last_page_has_no_next(self, daemon: Daemon):
        daemon.proofs.add(2)
        assert (await daemon.service.proofs(2, None)).next_before is None
        assert await daemon.service.proofs(2, 0) == wire.ProofList((), None)

    @pytest.mark.parametrize("limit", [0, -1, 501])
    async def test_a_page_has_a_size(self, daemon: Daemon, limit: int):
        with pytest.raises(wire.InvalidInput, match="It must be from 1 to 500"):
            await daemon.service.proofs(limit, None)

    async def test_the_exact_bytes_of_one(self, daemon: Daemon):
        daemon.proofs.files["prf_x"] = b'{"payload":{"id":"prf_x"}}'
        assert await daemon.service.proof("prf_x") == b'{"payload":{"id":"prf_x"}}'
        with pytest.raises(wire.UnknownSubject, match='There is no certificate "prf_y"'):
            await daemon.service.proof("prf_y")


RACK = NewProvider("rack", "openai-compatible", "http://192.168.1.9:8000/v1", "sk-1", "qwen3", "unpriced")


async def test_a_change_of_policy_is_in_what_is_answered(daemon: Daemon):
    await daemon.service.put_provider("zoe", RACK)
    await daemon.service.create_workspace("zoe", wire.NewName("legal"))
    assert (await daemon.service.set_active("zoe", NewActive("rack"))).full == ("rack/qwen3",)
    listed = await daemon.service.set_allow_list("zoe", NewAllowList(("ollama", "rack"), "legal"))
    assert (listed.allow, listed.full) == (("ollama", "rack"), ("ollama/smollm2", "rack/qwen3"))
    assert (await daemon.service.policy(None)).full == ("rack/qwen3",)
    assert (await daemon.service.set_unscannable("zoe", NewChoice("allow"))).unscannable == "allow"
    assert (await daemon.service.set_sensitive_on_open("zoe", NewChoice("allow"))).sensitive_on_open == "allow"
    assert (await daemon.service.clear_allow_list("zoe", "legal")).full == ("rack/qwen3",)
    await daemon.service.remove_provider("zoe", OldProvider("rack"))
    assert (await daemon.service.policy(None)).full == ()
    assert daemon.told == 8
    assert daemon.changes > daemon.told  # what is answered is read anew too
    rows = await daemon.parts.database.read(lambda conn: audit.newest(conn, limit=8))
    assert {row.who for row in rows} == {"zoe"}


async def test_providers_are_listed_with_what_their_models_cost(daemon: Daemon):
    await daemon.service.put_provider("zoe", RACK)
    await daemon.service.put_provider("zoe", NewProvider("eu", "openai", key="sk-2", full="gpt-4o"))
    rack, eu = (await daemon.service.providers()).providers
    assert (rack.full_price, rack.fast_price) == (Price(100_000, 200_000), None)
    # openai.com/api/pricing: GPT-4o is $2.50 and $10. A provider of a kind with public prices has those, by any name.
    assert (eu.full_price, eu.fast_price) == (Price(2_500_000, 10_000_000), None)


async def test_a_provider_is_tested_with_its_own_key_and_nothing_is_recorded(daemon: Daemon):
    await daemon.service.put_provider("zoe", RACK)
    daemon.checker.answer = ProviderCheck(False, "The key is wrong.", "Give another.")
    assert await daemon.service.test_provider("rack") == daemon.checker.answer
    [asked] = daemon.checker.asked
    assert (asked.name, asked.kind, asked.base_url, asked.key, asked.full, asked.fast) == (
        "rack",
        "openai-compatible",
        "http://192.168.1.9:8000/v1",
        "sk-1",
        "qwen3",
        "unpriced",
    )
    assert daemon.changes == 1


async def test_a_key_that_another_key_file_sealed_is_told(daemon: Daemon):
    await daemon.service.put_provider("zoe", RACK)
    daemon.parts = replace(daemon.parts, sealer=Sealer(b"1" * 32))
    with pytest.raises(StateError, match=r"Put back the secret\.key"):
        await daemon.service.test_provider("rack")


async def test_a_status_has_a_lane_for_every_provider(daemon: Daemon):
    await daemon.service.put_provider("zoe", RACK)
    await daemon.service.put_provider("zoe", NewProvider("eu", "openai", key="sk-2"))
    assert (await daemon.service.status()).lanes[1:] == (
        wire.Lane("rack", local=False, ready=True, machines=0, model="qwen3"),
        wire.Lane("eu", local=False, ready=False, machines=0, why="it has no full model"),
    )
