"""Which provider and model answer a call, and who may follow if they fail: policy and call in, decision out.

Must not know machines, the network or the text: the shield says only whether it found something.
Source: synapse.md ("Routing"), routing.md ("Choice"; the numbers below are its steps).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from appliance.calls import classify
from appliance.calls.address import Address
from appliance.calls.classify import ExplicitTask, Task
from appliance.calls.estimate import Prompt
from appliance.calls.policy import Policy, Provider, Tier, local_lane, local_lane_exists, reachable
from appliance.errors import ProviderNotAllowed


class Prices(Protocol):
    """What fast models are compared by: a mapping will do."""

    def get(self, named: tuple[str, str], /) -> int | None:
        """Micro-dollars per million tokens of (provider as it is called outside, model); None: not known."""
        ...


TIERS: Mapping[Task, Tier] = {
    "sensitive": "local",
    "agent": "full",
    "simple": "fast",
    "extraction": "fast",
    "complex": "full",
    "code": "full",
}

SENSITIVE_REASON = "sensitive=true -> local Ollama (data never leaves machine)"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to answer. `model` is None only for the local lane, while no model is set for it."""

    provider: Provider
    model: str | None

    @property
    def name(self) -> str:
        return self.provider.label if self.model is None else f"{self.provider.label}/{self.model}"


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a call goes.

    `candidates`: the first is the choice, the others may follow when it fails; never empty. `escalation` takes
    the call if a scan finds personal data, None where that changes nothing. `scan_due`: the shield is on and has
    not seen the text. `failed`: who was chosen before and did not answer.
    """

    task: Task
    tier: Tier
    candidates: tuple[Candidate, ...]
    escalation: Candidate | None = None
    scan_due: bool = False
    failed: tuple[Candidate, ...] = ()

    @property
    def choice(self) -> Candidate:
        return self.candidates[0]

    @property
    def must_scan(self) -> bool:
        """Whether the text must pass the shield before it goes to the choice (step 3)."""
        return self.scan_due and not self.choice.provider.local

    @property
    def reason(self) -> str:
        """The certificate's `routing.reason`."""
        if self.task == "sensitive":
            return SENSITIVE_REASON
        model = "fast model" if self.tier == "fast" else "configured model"
        after = f" after {', '.join(candidate.name for candidate in self.failed)} failed" if self.failed else ""
        return f"task={self.task} -> {model} ({self.choice.name}){after}"


def decide(
    policy: Policy,
    address: Address,
    prompt: Prompt,
    *,
    prices: Prices,
    explicit_task: ExplicitTask | None = None,
) -> Decision:
    """The decision before any scan. Raises ProviderNotAllowed where policy leaves no provider (step 1)."""
    lane_exists = local_lane_exists(policy)
    task = classify.task(address, prompt, local_lane=lane_exists, explicit=explicit_task)
    if task == "sensitive":
        return _sensitive(_local_candidate(policy))
    tier = TIERS[task]
    providers = reachable(policy, sensitive=False)
    shield_on = policy.shield_mode != "off"
    escalates = shield_on and lane_exists and not classify.agentic(address, prompt)
    return Decision(
        task,
        tier,
        candidates=_fast(providers, prices) if tier == "fast" else _full(providers),
        escalation=_local_candidate(policy) if escalates else None,
        scan_due=shield_on,
    )


def stays(policy: Policy, address: Address) -> bool:
    """Whether a call with this address can go nowhere but to the local lane, whatever its text is and whoever fails."""
    try:
        allowed = reachable(policy, sensitive=address.sensitive and local_lane_exists(policy))
    except ProviderNotAllowed:
        return True
    return all(provider.local for provider in allowed)


def after_scan(decision: Decision, *, found: bool) -> Decision:
    """The decision once the shield has read the text (step 3): on to the local lane with it, or out with it masked."""
    if found and decision.escalation is not None:
        return _sensitive(decision.escalation)
    return replace(decision, scan_due=False)


def after_failure(decision: Decision) -> Decision | None:
    """The next allowed choice, None if there is none (step 5).

    Only for a connection error, a 429 or a 5xx before the first byte of content. The new decision may say that
    the text must be scanned first: the choice that failed may have been the local lane.
    """
    failed, *others = decision.candidates
    if not others:
        return None
    return replace(decision, candidates=tuple(others), failed=(*decision.failed, failed))


def _sensitive(lane: Candidate) -> Decision:
    return Decision("sensitive", "local", (lane,))


def _local_candidate(policy: Policy) -> Candidate:
    return Candidate(local_lane(policy), policy.local.for_tier("local"))


def _full(providers: tuple[Provider, ...]) -> tuple[Candidate, ...]:
    return tuple(Candidate(provider, provider.full) for provider in providers)


def _fast(providers: tuple[Provider, ...], prices: Prices) -> tuple[Candidate, ...]:
    """Distinct fast models by price, then the full models of providers without one, each in the given order."""
    distinct = [Candidate(provider, provider.distinct_fast) for provider in providers if provider.distinct_fast]
    ranked = sorted(distinct, key=lambda candidate: _price_rank(candidate, prices))
    return (*ranked, *_full(tuple(provider for provider in providers if not provider.distinct_fast)))


def _price_rank(candidate: Candidate, prices: Prices) -> tuple[bool, int]:
    if candidate.provider.local:
        return (False, 0)
    price = prices.get((candidate.provider.label, candidate.model or ""))
    return (price is None, price or 0)
