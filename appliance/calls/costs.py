"""What a call cost, and what it would have cost on the configured full model: for the operator's ledger, no bill.

Pure: prices and policy in, micro-dollars out. Source: synapse.md ("Metering and cost"), routing.md ("Metering").
"""

from typing import NamedTuple, Protocol

from appliance.calls.policy import Policy, Provider, reachable
from appliance.dialects.chat import Usage
from appliance.errors import ProviderNotAllowed


class Costing(Protocol):
    """Micro-dollars of a call on a provider, as it is called outside, and a model; None where not known."""

    def cost(self, provider: str, model: str, *, prompt_tokens: int, completion_tokens: int) -> int | None: ...


class Costs(NamedTuple):
    """Micro-dollars, None where the price is not known: of the call as it was, and on the full model."""

    own: int | None
    full: int | None


def costs(policy: Policy, prices: Costing, provider: Provider, model: str, usage: Usage) -> Costs:
    """The costs of a call that `model` of `provider` answered. The installation's own machines cost nothing."""
    try:
        first = reachable(policy, sensitive=False)[0]
    except ProviderNotAllowed:  # a sensitive call is answered all the same, and there is nothing to compare it with
        return Costs(_cost(prices, provider, model, usage), None)
    return Costs(_cost(prices, provider, model, usage), _cost(prices, first, first.full or "", usage))


def _cost(prices: Costing, provider: Provider, model: str, usage: Usage) -> int | None:
    if provider.local:
        return 0
    return prices.cost(
        provider.label, model, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
    )
