"""Where a call goes. Sources: synapse.md ("Routing", "Sensitive calls"), routing.md ("Choice", steps 1 to 5)."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.address import parse
from appliance.calls.estimate import Prompt
from appliance.calls.policy import LocalModels, Policy, Provider, local_lane_exists
from appliance.calls.routing import (
    Decision,
    Prices,
    after_failure,
    after_scan,
    decide,
    stays,
)
from appliance.errors import ProviderNotAllowed

Make = Callable[..., Policy]

SHORT = Prompt(characters=120)
LONG = Prompt(characters=18_000)
PRICES: Prices = {("openai", "gpt-4o-mini"): 600_000, ("mistral", "mistral-small"): 300_000}
SENSITIVE = "sensitive=true -> local Ollama (data never leaves machine)"


RACKS = {name: Provider(name, "openai-compatible", "big", "m", local=False) for name in ("one", "two")}


def route(policy: Policy, model: str = "pulse-auto", prompt: Prompt = SHORT, prices: Prices = PRICES) -> Decision:
    return decide(policy, parse(model), prompt, prices=prices)


def names(decision: Decision) -> list[str]:
    return [candidate.name for candidate in decision.candidates]


@pytest.mark.parametrize(
    ("settings", "model", "prompt", "task", "tier", "reason"),
    [
        # synapse.md, the table "You send | Resolved task | Tier", row by row, with the reasons of its last tables.
        ({"active": "openai"}, "pulse-auto", SHORT, "simple", "fast", "task=simple -> fast model (openai/gpt-4o-mini)"),
        (
            {"active": "openai"},
            "pulse-auto",
            LONG,
            "complex",
            "full",
            "task=complex -> configured model (openai/gpt-4o)",
        ),
        (
            {"active": "openai"},
            "pulse-auto",
            replace(SHORT, json_mode=True),
            "complex",
            "full",
            "task=complex -> configured model (openai/gpt-4o)",
        ),
        (
            {"active": "openai"},
            "claude-sonnet-4-6",
            replace(SHORT, tools=1),
            "agent",
            "full",
            "task=agent -> configured model (openai/gpt-4o)",
        ),
        ({"active": "openai"}, "pulse-agent", SHORT, "agent", "full", "task=agent -> configured model (openai/gpt-4o)"),
        ({"active": "openai"}, "pulse-sensitive", SHORT, "sensitive", "local", SENSITIVE),
        ({"active": "openai"}, "gpt-4o+sensitive", LONG, "sensitive", "local", SENSITIVE),
        ({"active": "mistral"}, "gpt-4o", SHORT, "simple", "fast", "task=simple -> fast model (mistral/mistral-small)"),
        # The default installation: everything on the local lane.
        ({}, "pulse-auto", SHORT, "simple", "fast", "task=simple -> fast model (ollama/llama3.1)"),
        ({}, "pulse-agent", SHORT, "agent", "full", "task=agent -> configured model (ollama/llama3.1)"),
        (
            {"local": LocalModels(full="llama3.1", fast="smollm2")},
            "pulse-auto",
            SHORT,
            "simple",
            "fast",
            "task=simple -> fast model (ollama/smollm2)",
        ),
        # Where no model is set the machines decide later.
        ({"local": LocalModels()}, "pulse-auto", LONG, "complex", "full", "task=complex -> configured model (ollama)"),
        # gateway.md, "Headers": an `openai-compatible` provider goes by its name.
        ({"active": "rack"}, "pulse-auto", LONG, "complex", "full", "task=complex -> configured model (rack/qwen3)"),
        # synapse.md, "Sensitive calls": cloud without a local lane goes through normal routing.
        (
            {"app_mode": "cloud", "active": "openai"},
            "pulse-sensitive",
            SHORT,
            "simple",
            "fast",
            "task=simple -> fast model (openai/gpt-4o-mini)",
        ),
        # A cloud deployment whose active provider is local has a lane (model-addressing.md, "Sensitive").
        ({"app_mode": "cloud"}, "pulse-sensitive", SHORT, "sensitive", "local", SENSITIVE),
        # "whatever provider preference was configured": an allow-list does not restrict the lane.
        ({"allow": ("openai",)}, "pulse-sensitive", SHORT, "sensitive", "local", SENSITIVE),
        ({"allow": ("nowhere",)}, "agent:cfo+sensitive", SHORT, "sensitive", "local", SENSITIVE),
    ],
)
def test_decision(
    policy: Make, settings: Mapping[str, object], model: str, prompt: Prompt, task: str, tier: str, reason: str
):
    decision = route(policy(**settings), model, prompt)
    assert (decision.task, decision.tier, decision.reason) == (task, tier, reason)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Step 4: the full model of the first allowed provider that is configured, then the next allowed.
        ({"allow": ("openai", "mistral")}, ["openai/gpt-4o", "mistral/mistral-large"]),
        ({"allow": ("nowhere", "mistral", "openai")}, ["mistral/mistral-large", "openai/gpt-4o"]),
        ({"allow": ("openai", "ollama")}, ["openai/gpt-4o", "ollama/llama3.1"]),
        ({"allow": ("ollama", "openai")}, ["ollama/llama3.1", "openai/gpt-4o"]),
        # Step 5: never outside the list; without a list, nobody follows the active provider.
        ({"active": "openai"}, ["openai/gpt-4o"]),
        ({}, ["ollama/llama3.1"]),
    ],
)
def test_full_tier(policy: Make, settings: Mapping[str, object], expected: list[str]):
    assert names(route(policy(**settings), prompt=LONG)) == expected


@pytest.mark.parametrize(
    ("settings", "prices", "expected"),
    [
        # Step 4: the cheapest distinct fast model among the allowed providers, by the price catalogue …
        ({"allow": ("openai", "mistral")}, PRICES, ["mistral/mistral-small", "openai/gpt-4o-mini"]),
        # … unpriced models rank last but count …
        (
            {"allow": ("mistral", "openai")},
            {("openai", "gpt-4o-mini"): 600_000, ("mistral", "mistral-small"): None},
            ["openai/gpt-4o-mini", "mistral/mistral-small"],
        ),
        (
            {"allow": ("mistral", "openai")},
            {("openai", "gpt-4o-mini"): 1},
            ["openai/gpt-4o-mini", "mistral/mistral-small"],
        ),
        # … in the administrator's order where the price does not decide …
        ({"allow": ("openai", "mistral")}, {}, ["openai/gpt-4o-mini", "mistral/mistral-small"]),
        # … else full: no fast model, or one that is the full model.
        ({"allow": ("anthropic", "rack")}, PRICES, ["anthropic/claude-sonnet-4-6", "rack/qwen3"]),
        ({"active": "anthropic"}, PRICES, ["anthropic/claude-sonnet-4-6"]),
        # Compatible servers, which are all of one kind, are told apart by their names.
        (
            {"allow": ("one", "two"), "providers": RACKS},
            {("one", "m"): 2, ("two", "m"): 1, ("openai-compatible", "m"): 0},
            ["two/m", "one/m"],
        ),
        # A provider without a distinct fast model may still follow.
        ({"allow": ("anthropic", "openai")}, PRICES, ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-6"]),
        # synapse.md, "Metering": local models cost zero.
        (
            {"allow": ("mistral", "ollama"), "local": LocalModels(full="llama3.1", fast="smollm2")},
            PRICES,
            ["ollama/smollm2", "mistral/mistral-small"],
        ),
        ({"local": LocalModels()}, PRICES, ["ollama"]),
    ],
)
def test_fast_tier(policy: Make, settings: Mapping[str, object], prices: Prices, expected: list[str]):
    assert names(route(policy(**settings), prices=prices)) == expected


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (LocalModels("llama3.1", "smollm2", "mistral-nemo"), ["ollama/mistral-nemo"]),
        (LocalModels("llama3.1", "smollm2"), ["ollama/llama3.1"]),
        (LocalModels(), ["ollama"]),
    ],
)
def test_local_tier(policy: Make, models: LocalModels, expected: list[str]):
    assert names(route(policy(local=models), "pulse-sensitive")) == expected


@pytest.mark.parametrize("task", ["simple", "extraction"])
def test_explicit_tasks_of_the_fast_tier(policy: Make, task):
    decision = decide(policy(active="openai"), parse(None), LONG, explicit_task=task, prices=PRICES)
    assert (decision.task, decision.tier) == (task, "fast")
    assert decision.reason == f"task={task} -> fast model (openai/gpt-4o-mini)"


@pytest.mark.parametrize("task", ["complex", "code"])
def test_explicit_tasks_of_the_full_tier(policy: Make, task):
    decision = decide(policy(active="openai"), parse(None), SHORT, explicit_task=task, prices=PRICES)
    assert (decision.task, decision.tier) == (task, "full")


@pytest.mark.parametrize("model", ["pulse-auto", "gpt-4o", "pulse-agent"])
def test_an_allow_list_without_a_configured_provider_is_refused(policy: Make, model: str):
    with pytest.raises(ProviderNotAllowed):
        route(policy(allow=("nowhere",)), model)


@pytest.mark.parametrize(
    ("settings", "model", "must_scan"),
    [
        # Step 2: local, or mode off: a no-op. Step 3: the first choice that would leave is scanned.
        ({}, "pulse-auto", False),
        ({"allow": ("ollama", "openai")}, "pulse-agent", False),
        ({"active": "openai"}, "pulse-sensitive", False),
        ({"active": "openai"}, "pulse-auto", True),
        ({"active": "openai"}, "pulse-agent", True),
        ({"app_mode": "cloud", "active": "openai"}, "pulse-sensitive", True),
        ({"active": "openai", "shield_mode": "medical"}, "pulse-auto", True),
        ({"active": "openai", "shield_mode": "off"}, "pulse-auto", False),
    ],
)
def test_must_scan(policy: Make, settings: Mapping[str, object], model: str, must_scan: bool):
    assert route(policy(**settings), model).must_scan is must_scan


class TestAfterScan:
    """Step 3: found, not agentic and a local lane → sensitive; else mask and go on."""

    @pytest.mark.parametrize("settings", [{"active": "openai"}, {"allow": ("openai", "mistral")}])
    def test_found_stays(self, policy: Make, settings: Mapping[str, object]):
        decision = after_scan(route(policy(**settings)), found=True)
        assert (decision.task, decision.tier, decision.reason) == ("sensitive", "local", SENSITIVE)
        assert names(decision) == ["ollama/llama3.1"]
        assert not decision.must_scan
        assert after_failure(decision) is None

    @pytest.mark.parametrize(
        ("settings", "model", "prompt"),
        [
            ({"app_mode": "cloud", "active": "openai"}, "pulse-auto", SHORT),
            ({"app_mode": "cloud", "active": "openai"}, "pulse-sensitive", SHORT),
            ({"active": "openai"}, "pulse-agent", SHORT),
            ({"active": "openai"}, "pulse-auto", replace(SHORT, tools=1)),
            ({"active": "openai"}, "pulse-auto", replace(SHORT, tool_turns=True)),
            ({"active": "openai"}, "pulse-auto", Prompt(characters=8_001, system_characters=8_001)),
        ],
    )
    def test_found_leaves_masked(self, policy: Make, settings: Mapping[str, object], model: str, prompt: Prompt):
        before = route(policy(**settings), model, prompt)
        after = after_scan(before, found=True)
        assert (after.task, after.reason, names(after)) == (before.task, before.reason, names(before))
        assert not after.must_scan

    def test_nothing_found_goes_on(self, policy: Make):
        before = route(policy(active="openai"))
        after = after_scan(before, found=False)
        assert (after.reason, names(after), after.must_scan) == (before.reason, names(before), False)


class TestAfterFailure:
    """Step 5."""

    def test_the_next_allowed_provider_follows_and_the_reason_says_so(self, policy: Make):
        scanned = after_scan(route(policy(allow=("openai", "mistral", "anthropic")), prompt=LONG), found=False)
        second = after_failure(scanned)
        assert second is not None
        assert second.reason == "task=complex -> configured model (mistral/mistral-large) after openai/gpt-4o failed"
        assert not second.must_scan, "the text is scanned once"
        third = after_failure(second)
        assert third is not None
        assert third.reason == (
            "task=complex -> configured model (anthropic/claude-sonnet-4-6)"
            " after openai/gpt-4o, mistral/mistral-large failed"
        )
        assert after_failure(third) is None

    @pytest.mark.parametrize("settings", [{}, {"active": "openai"}])
    def test_nobody_follows_without_an_allow_list(self, policy: Make, settings: Mapping[str, object]):
        assert after_failure(route(policy(**settings))) is None

    @pytest.mark.parametrize("allow", [("openai",), ("ollama", "openai"), ("openai", "ollama")])
    def test_a_sensitive_call_is_never_followed_by_anyone(self, policy: Make, allow: tuple[str, ...]):
        assert after_failure(route(policy(allow=allow), "pulse-sensitive")) is None

    def test_from_local_to_a_listed_external_only_after_the_scan(self, policy: Make):
        local = route(policy(allow=("ollama", "openai")), prompt=LONG)
        assert not local.must_scan
        external = after_failure(local)
        assert external is not None
        assert external.must_scan
        assert after_scan(external, found=True).choice.provider.local
        assert names(after_scan(external, found=False)) == ["openai/gpt-4o"]

    def test_from_external_to_a_listed_local(self, policy: Make):
        local = after_failure(after_scan(route(policy(allow=("openai", "ollama")), prompt=LONG), found=False))
        assert local is not None
        assert local.choice.provider.local
        assert not local.must_scan


@pytest.mark.parametrize(
    ("settings", "model", "expected"),
    [
        ({}, "pulse-auto", True),
        ({"active": "openai"}, "pulse-auto", False),
        ({"active": "openai"}, "pulse-sensitive", True),
        ({"active": "openai", "app_mode": "cloud"}, "pulse-sensitive", False),
        ({"allow": ("ollama", "openai")}, "pulse-auto", False),
        ({"allow": ("ollama", "openai")}, "gpt-4o+sensitive", True),
        ({"allow": ("nowhere",)}, "pulse-auto", True),
    ],
)
def test_which_calls_can_only_stay(policy: Make, settings: Mapping[str, object], model: str, expected: bool):
    assert stays(policy(**settings), parse(model)) == expected


MODELS = st.none() | st.sampled_from(["a", "b", "c"])
EXTERNAL = st.builds(
    Provider, st.just(""), st.sampled_from(["openai", "mistral"]), MODELS, MODELS, local=st.just(False)
)
POLICIES = st.builds(
    lambda providers, **settings: Policy(
        providers={name: replace(provider, name=name) for name, provider in zip("xyz", providers, strict=True)},
        **settings,
    ),
    st.lists(EXTERNAL, min_size=3, max_size=3),
    app_mode=st.sampled_from(["local", "cloud"]),
    active=st.sampled_from(["ollama", "x", "y", "z"]),
    allow=st.none() | st.lists(st.sampled_from(["ollama", "x", "y", "z", "nowhere"]), max_size=4).map(tuple),
    local=st.builds(LocalModels, MODELS, MODELS, MODELS),
    shield_mode=st.sampled_from(["standard", "medical", "off"]),
)
CALLS = st.tuples(
    st.sampled_from(["pulse-auto", "pulse-agent", "pulse-sensitive", "gpt-4o", "agent:x+sensitive", "x+sensitive"]),
    st.builds(Prompt, st.integers(0, 4_000), st.integers(0, 9_000), st.integers(0, 1), st.booleans(), st.booleans()),
)
PRICE_LISTS = st.dictionaries(
    st.tuples(st.sampled_from(["openai", "mistral"]), st.sampled_from("abc")), st.none() | st.integers(0, 10)
)


@given(POLICIES, CALLS, PRICE_LISTS, st.booleans())
def test_no_path_leaves_what_the_policy_allows(policy: Policy, call: tuple[str, Prompt], prices: Prices, found: bool):
    """Every path of scans and failures: allowed providers only, sensitive text stays, nothing leaves unscanned."""
    address = parse(call[0])
    try:
        decision: Decision | None = decide(policy, address, call[1], prices=prices)
    except ProviderNotAllowed:
        assert not (address.sensitive and local_lane_exists(policy))
        assert stays(policy, address)
        return
    allowed = set(policy.allow if policy.allow is not None else (policy.active,))
    steps = 0
    while decision is not None:
        steps += 1
        assert steps <= 5, "each provider at most once, and the lane once more for sensitive text"
        if decision.must_scan:
            decision = after_scan(decision, found=found)
        choice = decision.choice
        assert choice.provider.local or choice.model is not None
        if decision.task == "sensitive":
            assert choice.provider.local
            assert after_failure(decision) is None
        else:
            assert choice.provider.name in allowed
            assert not (address.sensitive and local_lane_exists(policy))
        if not choice.provider.local:
            assert not stays(policy, address)
            assert not decision.must_scan
            assert not (found and decision.escalation), "text with a finding stays where it can"
        decision = after_failure(decision)
