"""What a policy allows. Sources: routing.md ("Settings that decide", "Choice" 1), synapse.md ("Providers …")."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.policy import (
    LocalModels,
    Policy,
    Provider,
    Tier,
    active_provider,
    fingerprint,
    full_model,
    local_lane,
    local_lane_exists,
    reachable,
)
from appliance.errors import ProviderNotAllowed

Make = Callable[..., Policy]


def test_defaults():
    """routing.md, "Settings that decide", the column "Default"."""
    policy = Policy()
    assert policy.app_mode == "local"
    assert policy.active == "ollama"
    assert policy.allow is None
    assert policy.shield_mode == "standard"
    assert policy.unscannable == "refuse"
    assert policy.sensitive_on_open == "refuse"  # cluster.md, "Node agent and trust"


@pytest.mark.parametrize(
    ("models", "tier", "expected"),
    [
        (LocalModels("big", "small", "house"), "full", "big"),
        (LocalModels("big", "small", "house"), "fast", "small"),
        (LocalModels("big", "small", "house"), "local", "house"),
        # "fast falls back to full; local falls back to the local lane's full model"
        (LocalModels("big"), "fast", "big"),
        (LocalModels("big"), "local", "big"),
        (LocalModels(fast="small"), "local", None),
        (LocalModels(fast="small"), "full", None),
        (LocalModels(), "full", None),
    ],
)
def test_models_of_the_local_lane(models: LocalModels, tier: Tier, expected: str | None):
    assert models.for_tier(tier) == expected


@pytest.mark.parametrize(
    ("settings", "exists"),
    [
        # routing.md: a local lane exists when APP_MODE=local, or the active provider is ollama.
        ({"app_mode": "local", "active": "ollama"}, True),
        ({"app_mode": "local", "active": "openai"}, True),
        ({"app_mode": "local", "allow": ("openai",)}, True),
        ({"app_mode": "cloud", "active": "ollama"}, True),
        ({"app_mode": "cloud", "active": "openai"}, False),
        # Writing an allow-list makes its first entry the active provider.
        ({"app_mode": "cloud", "active": "ollama", "allow": ("openai", "ollama")}, False),
        ({"app_mode": "cloud", "active": "openai", "allow": ("ollama", "openai")}, True),
    ],
)
def test_a_local_lane_exists(policy: Make, settings: dict[str, object], exists: bool):
    assert local_lane_exists(policy(**settings)) is exists


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "ollama"),
        ({"active": "mistral"}, "mistral"),
        ({"active": "ollama", "allow": ("mistral", "openai")}, "mistral"),
        ({"active": "openai", "allow": ()}, "openai"),
    ],
)
def test_active_provider(policy: Make, settings: dict[str, object], expected: str):
    assert active_provider(policy(**settings)) == expected


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        # "Until an administrator writes an allow-list, routing stays on the installation's active provider."
        ({}, ["ollama"]),
        ({"active": "openai"}, ["openai"]),
        # "the allow-list in its order": the administrator's ranking.
        ({"allow": ("openai", "mistral")}, ["openai", "mistral"]),
        ({"allow": ("mistral", "openai")}, ["mistral", "openai"]),
        ({"active": "anthropic", "allow": ("mistral",)}, ["mistral"]),
        # "`ollama` is always implied for sensitive calls, and otherwise only if listed"
        ({"allow": ("mistral", "ollama")}, ["mistral", "ollama"]),
        # Only what is configured counts; a provider without a full model is not.
        ({"allow": ("nowhere", "unset", "openai")}, ["openai"]),
        ({"allow": ("openai", "openai")}, ["openai"]),
    ],
)
def test_reachable(policy: Make, settings: dict[str, object], names: list[str]):
    assert [provider.name for provider in reachable(policy(**settings), sensitive=False)] == names


@pytest.mark.parametrize(
    "settings", [{}, {"active": "openai"}, {"allow": ("openai",)}, {"allow": ("nowhere",)}, {"allow": ()}]
)
def test_a_sensitive_call_reaches_the_local_lane_and_nothing_else(policy: Make, settings: dict[str, object]):
    """Step 1; "the local lane is never restricted"."""
    assert reachable(policy(**settings), sensitive=True) == (local_lane(policy(**settings)),)


@pytest.mark.parametrize(
    "settings", [{"allow": ("nowhere",)}, {"allow": ("unset",)}, {"allow": ()}, {"active": "nowhere"}]
)
def test_nobody_configured_is_refused_with_a_next_step(policy: Make, settings: dict[str, object]):
    """Step 5: an allow-list without a configured provider is 403. Never silently replaced (synapse.md)."""
    with pytest.raises(ProviderNotAllowed) as refused:
        reachable(policy(**settings), sensitive=False)
    assert "synapse " in refused.value.advice


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        # routing.md, "Choice": full = the configured full model of the first allowed provider that is configured.
        ({}, "llama3.1"),
        ({"active": "openai"}, "gpt-4o"),
        ({"allow": ("unset", "mistral", "openai")}, "mistral-large"),
        ({"allow": ("ollama", "openai")}, "llama3.1"),
        ({"allow": ("unset",)}, None),
        ({"active": "nowhere"}, None),
    ],
)
def test_the_full_model_in_force(policy: Make, settings: dict[str, object], model: str | None):
    assert full_model(policy(**settings)) == model


def test_no_external_provider_can_take_the_name_of_the_lane(policy: Make):
    impostor = Provider("ollama", "openai", "gpt-4o", None, local=False)
    (reached,) = reachable(policy(providers={"ollama": impostor}), sensitive=False)
    assert reached == local_lane(policy())
    assert reached.local


@pytest.mark.parametrize(
    ("kind", "name", "label"),
    [
        # gateway.md, "Headers": the provider's kind; for `openai-compatible` its configured name.
        ("openai", "us-office", "openai"),
        ("mistral", "mistral", "mistral"),
        ("openai-compatible", "rack", "rack"),
        ("ollama", "ollama", "ollama"),
    ],
)
def test_label(kind: str, name: str, label: str):
    assert Provider(name, kind, "m", None, local=False).label == label


class TestFingerprint:
    def test_is_sha256_of_canonical_json(self):
        """proofs.md, `gateway.policy`; the bytes are RFC 8785's, made here by another library."""
        policy = Policy(
            app_mode="cloud",
            active="openai",
            allow=("openai", "ollama"),
            providers={"openai": Provider("openai", "openai", "gpt-4o", None, local=False)},
            local=LocalModels(full="llama3.1", embedding="nomic"),
        )
        fields = {
            "app_mode": "cloud",
            "active": "openai",
            "allow": ["openai", "ollama"],
            "providers": [{"name": "openai", "kind": "openai", "full": "gpt-4o", "fast": None, "local": False}],
            "local": {"full": "llama3.1", "fast": None, "local": None, "embedding": "nomic"},
            "shield_mode": "standard",
            "unscannable": "refuse",
            "sensitive_on_open": "refuse",
        }
        assert fingerprint(policy) == hashlib.sha256(rfc8785.dumps(fields)).hexdigest()

    @pytest.mark.parametrize(
        "change",
        [
            {"app_mode": "cloud"},
            {"active": "openai"},
            {"allow": ()},
            {"allow": ("openai", "mistral")},
            {"allow": ("mistral", "openai")},
            {"providers": {}},
            {"local": LocalModels(full="llama3.2")},
            {"local": LocalModels(full="llama3.1", embedding="nomic")},
            {"shield_mode": "off"},
            {"unscannable": "allow"},
            {"sensitive_on_open": "allow"},
        ],
    )
    def test_every_setting_shows(self, policy: Make, change: dict[str, object]):
        assert fingerprint(policy(**change)) != fingerprint(policy())

    @given(st.permutations(["b", "a", "é", "😀", "\ufffd"]))
    def test_the_order_in_which_providers_were_added_does_not(self, names: list[str]):
        providers = {name: Provider(name, "openai", "m", None, local=False) for name in names}
        other = {name: providers[name] for name in sorted(names)}
        assert fingerprint(Policy(providers=providers)) == fingerprint(replace(Policy(), providers=other))
