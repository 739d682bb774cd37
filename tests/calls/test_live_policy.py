import sqlite3

import pytest

from appliance.calls.live_policy import LivePolicy, Rules, rules
from appliance.calls.policy import Provider, fingerprint
from appliance.cluster.machine import Machine, Model
from appliance.store import allow_lists, live_settings, providers, workspaces
from appliance.store.providers import ProviderRow


def machine(*models: str) -> Machine:
    listed = tuple(Model(name, "d", 1, frozenset({"completion"}), remote=False) for name in models)
    return Machine("m", "m", "http://127.0.0.1:1", "loopback", healthy=True, models=listed)


def test_the_machines_own_model_stands_in_until_one_is_set():
    machines = [machine("found")]
    policy = LivePolicy(app_mode="local", shield_mode="standard", machines=lambda: tuple(machines))
    assert [policy().local.for_tier(tier) for tier in ("full", "fast", "local")] == ["found"] * 3
    policy.set_local_models({"full": "set", "fast": "quick"})
    assert [policy().local.for_tier(tier) for tier in ("full", "fast", "local")] == ["set", "quick", "set"]
    policy.set_local_models({})
    assert policy().local.for_tier("full") == "found"
    machines.clear()
    assert policy().local.for_tier("full") is None


def test_what_the_machines_have_does_not_change_the_policys_fingerprint():
    machines = [machine("one")]
    policy = LivePolicy(app_mode="local", shield_mode="standard", machines=lambda: tuple(machines))
    before = fingerprint(policy())
    machines[:] = [machine("two")]
    assert fingerprint(policy()) == before
    policy.set_local_models({"full": "two"})
    assert fingerprint(policy()) != before


class TestRules:
    """routing.md, "Settings that decide": live settings and their defaults."""

    def test_a_fresh_installation_has_the_defaults(self, conn: sqlite3.Connection):
        assert rules(conn) == Rules(active="ollama", allow={}, providers={}, unscannable="refuse")
        assert rules(conn).sensitive_on_open == "refuse"

    def test_what_was_set_is_read(self, conn: sqlite3.Connection):
        workspaces.insert(conn, workspace_id="ws_1", name="default", created_ms=1)
        providers.put(conn, ProviderRow("rack", "openai-compatible", "https://x/v1", "qwen3", "small", 1, b"sealed"))
        allow_lists.put(conn, 1, ["rack", "ollama"])
        live_settings.put(conn, live_settings.ACTIVE_PROVIDER, "rack")
        live_settings.put(conn, live_settings.UNSCANNABLE, "allow")
        live_settings.put(conn, live_settings.SENSITIVE_ON_OPEN, "allow")
        assert rules(conn) == Rules(
            active="rack",
            allow={1: ("rack", "ollama")},
            providers={"rack": Provider("rack", "openai-compatible", "qwen3", "small", local=False)},
            unscannable="allow",
            sensitive_on_open="allow",
        )

    @pytest.mark.parametrize("value", [None, 5, "Allow", ["allow"], {"allow": 1}])
    def test_what_makes_no_sense_is_the_strict_default(self, conn: sqlite3.Connection, value: object):
        for name in (live_settings.UNSCANNABLE, live_settings.SENSITIVE_ON_OPEN):
            live_settings.put(conn, name, value)
        assert (rules(conn).unscannable, rules(conn).sensitive_on_open) == ("refuse", "refuse")
        live_settings.put(conn, live_settings.ACTIVE_PROVIDER, 5)
        assert rules(conn).active == "ollama"


RULES = Rules(
    active="openai",
    allow={2: ("mistral", "openai"), 3: ("ollama",)},
    providers={"openai": Provider("openai", "openai", "gpt-4o", "gpt-4o-mini", local=False)},
    unscannable="allow",
    sensitive_on_open="allow",
)


@pytest.fixture
def live() -> LivePolicy:
    policy = LivePolicy(app_mode="cloud", shield_mode="medical", machines=lambda: (machine("found"),))
    policy.set_local_models({"fast": "quick"})
    policy.set_rules(RULES)
    return policy


def test_each_workspace_has_its_own_list_and_shares_the_rest(live: LivePolicy):
    assert [live(n).allow for n in (1, 2, 3)] == [None, ("mistral", "openai"), ("ollama",)]
    assert live().allow is None
    for found in (live(), live(1), live(2)):
        assert (found.app_mode, found.shield_mode, found.active) == ("cloud", "medical", "openai")
        assert (found.providers, found.unscannable, found.sensitive_on_open) == (RULES.providers, "allow", "allow")
        assert (found.local.fast, found.local.found) == ("quick", "found")


def test_new_rules_hold_at_once_and_whole(live: LivePolicy):
    before = live(2)
    live.set_rules(Rules())
    assert before.allow == ("mistral", "openai")
    assert live(2).allow is None
    assert (live(2).active, live(2).providers, live(2).unscannable) == ("ollama", {}, "refuse")
    assert live(2).local.fast == "quick"


def test_workspaces_that_may_reach_others_have_other_fingerprints(live: LivePolicy):
    assert len({fingerprint(live(n)) for n in (1, 2, 3)}) == 3
    assert fingerprint(live(1)) == fingerprint(live(99)) == fingerprint(live())
