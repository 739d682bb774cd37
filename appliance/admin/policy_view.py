"""The policy in force for a workspace, told in plain words: who answers, what may leave, what is refused.

Pure. Asks routing itself who answers, so that what is told is what happens.
"""

from collections.abc import Iterable, Sequence

from appliance.admin import policy_wire as wire
from appliance.calls import address
from appliance.calls.classify import ExplicitTask
from appliance.calls.estimate import Prompt
from appliance.calls.policy import LOCAL_PROVIDER, Policy, Provider, local_lane_exists, reachable
from appliance.calls.routing import Prices, decide
from appliance.errors import ProviderNotAllowed

OURS = "this installation's own machines"


def describe(policy: Policy, workspace: str, prices: Prices) -> wire.Policy:
    """What the policy means for the workspace of this name."""
    return wire.Policy(
        workspace=workspace,
        app_mode=policy.app_mode,
        shield_mode=policy.shield_mode,
        active=policy.active,
        allow=policy.allow,
        unscannable=policy.unscannable,
        sensitive_on_open=policy.sensitive_on_open,
        full=_answering(policy, prices, "complex"),
        fast=_answering(policy, prices, "simple"),
        skipped=_skipped(policy),
        explained=tuple(_sentences(policy, prices)),
    )


def _answering(policy: Policy, prices: Prices, task: ExplicitTask) -> tuple[str, ...]:
    try:
        decision = decide(policy, address.parse(None), Prompt(0), prices=prices, explicit_task=task)
    except ProviderNotAllowed:
        return ()
    return tuple(candidate.name for candidate in decision.candidates)


def _named(policy: Policy) -> tuple[str, ...]:
    return policy.allow if policy.allow is not None else (policy.active,)


def _reachable(policy: Policy) -> tuple[Provider, ...]:
    try:
        return reachable(policy, sensitive=False)
    except ProviderNotAllowed:
        return ()


def _skipped(policy: Policy) -> tuple[str, ...]:
    usable = {provider.name for provider in _reachable(policy)}
    return tuple(name for name in _named(policy) if name not in usable)


def _sentences(policy: Policy, prices: Prices) -> Iterable[str]:
    lane = local_lane_exists(policy)
    yield from _who(policy, prices, lane)
    yield from (_why_skipped(policy, name) for name in _skipped(policy))
    external = [provider.name for provider in _reachable(policy) if not provider.local]
    yield _leaves(policy, external, lane) if _reachable(policy) else "Nothing leaves."
    yield _sensitive(policy, lane)
    if external:
        yield _unscannable(policy, external)


def _who(policy: Policy, prices: Prices, lane: bool) -> Iterable[str]:
    full, fast = (_answering(policy, prices, task) for task in ("complex", "simple"))
    if not full:
        every = "Every call but a sensitive one" if lane else "Every call"
        named = "the allow-list" if policy.allow is not None else "the active provider"
        yield f"{every} is refused (403 provider_not_allowed): {named} names nobody who can answer."
        return
    yield f"Full calls (long ones, JSON, code, agents) go to {_chain(full)}."
    yield f"Fast calls (short ones) go to {_chain(fast)}."


def _chain(names: Sequence[str]) -> str:
    first, *others = names
    return first + "".join(f", then to {name}" for name in others) + (" as each fails" if others else "")


def _why_skipped(policy: Policy, name: str) -> str:
    if name in policy.providers:
        return f"{name} is named but has no full model, so that no call goes there: give it one with provider add."
    return f"{name} is named but not configured, so that no call goes there: synapse provider add {name}."


def _leaves(policy: Policy, external: Sequence[str], lane: bool) -> str:
    if not external:
        return f"Nothing leaves: calls are answered by {OURS}, with their text as it is."
    there = _list(external)
    if policy.shield_mode == "off":
        return f"The text of calls leaves to {there} as it is: the shield is off, and nothing is masked."
    masked = "a token in the place of each value, which is put back into the answer"
    if lane:
        return (
            f"Text that would leave to {there} is read by the shield ({policy.shield_mode}) first. A call in which it"
            f" finds personal data goes to {OURS} instead, as it is; an agent's call leaves with {masked}."
        )
    return (
        f"Text leaves to {there}. Where the shield ({policy.shield_mode}) finds personal data, it leaves with {masked}."
    )


def _sensitive(policy: Policy, lane: bool) -> str:
    if lane:
        listed = ", listed or not," if policy.allow is not None and LOCAL_PROVIDER not in policy.allow else ""
        return (
            f"Sensitive calls (pulse-sensitive, +sensitive) go to {OURS}{listed} and nowhere else; with none that can"
            " answer they are refused (503)."
        )
    return "Sensitive calls (pulse-sensitive, +sensitive) go where the others go: there is no local lane."


def _unscannable(policy: Policy, external: Sequence[str]) -> str:
    there = _list(external)
    if policy.unscannable == "allow" or policy.shield_mode == "off":
        return f"Pictures and files may leave to {there}, and nobody has looked into them."
    return f"Pictures and files, which cannot be scanned, are refused (422) towards {there}."


def _list(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
