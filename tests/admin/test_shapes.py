from dataclasses import replace
from datetime import UTC, datetime

import pytest

from appliance.admin import shapes, wire
from appliance.store.keys import Caller
from appliance.store.users import UserRow

NOW = datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC)
NOW_MS = 1_795_978_623_120

CALLER = Caller(
    key_n=1,
    key_id="key_1",
    key_name="laptop",
    workspace_n=1,
    workspace_id="ws_1",
    workspace="default",
    user_n=1,
    user_id="usr_1",
    user="admin",
    scopes=frozenset({"proofs", "engine"}),
    read_only=True,
    ceiling_milli=250,
    requests_per_minute=30,
    created_ms=NOW_MS - 1000,
    expires_ms=None,
    revoked_ms=None,
)

MACHINE = wire.Machine(
    id="url-1",
    name="box",
    url="http://box:11434",
    engine="ollama 0.32",
    trust="open",
    healthy=True,
    models=("llama3.2:latest", "qwen3:4b"),
)


def test_a_key_with_everything():
    assert shapes.key(replace(CALLER, expires_ms=NOW_MS + 1, revoked_ms=None), NOW) == wire.Key(
        id="key_1",
        name="laptop",
        user="admin",
        workspace="default",
        scopes=("engine", "proofs"),
        read_only=True,
        ceiling_milli=250,
        requests_per_minute=30,
        created="2026-11-29T18:57:02.120Z",
        expires="2026-11-29T18:57:03.121Z",
        revoked=None,
        state="active",
    )


@pytest.mark.parametrize(
    ("expires_ms", "revoked_ms", "state"),
    [
        (None, None, "active"),
        (NOW_MS + 1, None, "active"),
        (NOW_MS, None, "expired"),
        (None, NOW_MS - 1, "revoked"),
        (NOW_MS - 2, NOW_MS - 1, "revoked"),
    ],
)
def test_the_state_of_a_key(expires_ms: int | None, revoked_ms: int | None, state: str):
    assert shapes.key(replace(CALLER, expires_ms=expires_ms, revoked_ms=revoked_ms), NOW).state == state


def test_keys_are_counted_by_state():
    rows = [CALLER, CALLER, replace(CALLER, expires_ms=1), replace(CALLER, revoked_ms=1)]
    assert shapes.key_count(rows, NOW) == wire.KeyCount(active=2, expired=1, revoked=1)


def test_a_name():
    assert shapes.named(UserRow(3, "usr_3", "zoe", 0)) == wire.Named("usr_3", "zoe", "1970-01-01T00:00:00.000Z")


@pytest.mark.parametrize(
    ("machines", "model", "problem", "ready", "count"),
    [
        ([], None, "no machine", False, 0),
        ([MACHINE], "qwen3:4b", None, True, 1),
        ([replace(MACHINE, healthy=False)], "qwen3:4b", "no machine", False, 0),
        ([replace(MACHINE, models=())], None, "no model", False, 1),
        ([MACHINE], "absent", "nobody has it", False, 1),
        ([MACHINE, replace(MACHINE, healthy=False)], "qwen3:4b", None, True, 1),
    ],
)
def test_the_lane_is_ready_when_there_is_no_problem_and_counts_the_healthy(
    machines: list[wire.Machine], model: str | None, problem: str | None, ready: bool, count: int
):
    assert shapes.local_lane(machines, model, problem) == wire.Lane(
        "ollama", local=True, ready=ready, machines=count, model=model, why=problem
    )


@pytest.mark.parametrize(
    ("configured", "default", "effective"),
    [
        # routing.md, "Settings that decide": fast falls back to full; local falls back to the local lane's full model.
        ({}, "qwen3:4b", {"full": "qwen3:4b", "fast": "qwen3:4b", "local": "qwen3:4b", "embedding": None}),
        ({}, None, {"full": None, "fast": None, "local": None, "embedding": None}),
        ({"full": "a"}, "qwen3:4b", {"full": "a", "fast": "a", "local": "a", "embedding": None}),
        ({"fast": "b"}, "qwen3:4b", {"full": "qwen3:4b", "fast": "b", "local": "qwen3:4b", "embedding": None}),
        (
            {"full": "a", "fast": "b", "local": "c", "embedding": "d"},
            None,
            {"full": "a", "fast": "b", "local": "c", "embedding": "d"},
        ),
    ],
)
def test_what_each_role_gets(configured: dict[str, str], default: str | None, effective: dict[str, str | None]):
    found = shapes.models(configured, [MACHINE], default)
    assert {role.role: role.effective for role in found.roles} == effective
    assert {role.role: role.configured for role in found.roles if role.configured} == configured
    assert found.machines == (MACHINE,)


def test_only_fast_and_local_follow_another_role():
    found = shapes.models({"local": "c"}, [], None)
    assert {role.role: role.follows for role in found.roles} == {
        "full": None,
        "fast": "full",
        "local": None,
        "embedding": None,
    }


@pytest.mark.parametrize(
    ("name", "healthy", "available"),
    [
        ("llama3.2", True, True),
        ("llama3.2:latest", True, True),
        ("llama3.2:1b", True, False),
        ("qwen3:4b", False, False),
    ],
)
def test_available_means_on_a_healthy_machine_with_or_without_latest(name: str, healthy: bool, available: bool):
    found = shapes.models({"full": name}, [replace(MACHINE, healthy=healthy)], None)
    assert found.roles[0].available is available
