"""What a call counts and costs, and what it would have cost on the configured full model.

Pure: prices and policy in, micro-dollars out, which are for the operator's ledger and no bill.
Source: synapse.md ("Metering and cost"), routing.md ("Metering").
"""

from typing import NamedTuple, Protocol

from appliance.calls.policy import Policy, Provider, reachable
from appliance.dialects.chat import Usage
from appliance.errors import ProviderNotAllowed
from appliance.metering.questions import ModelClass


class Costing(Protocol):
    """Micro-dollars of a call on a provider, as it is called outside, and a model; None where not known."""

    def cost(self, provider: str, model: str, *, prompt_tokens: int, completion_tokens: int) -> int | None: ...


class Costs(NamedTuple):
    """Micro-dollars, None where the price is not known: of the call as it was, and on the full model."""

    own: int | None
    full: int | None


def model_class(provider: Provider, model: str | None) -> ModelClass:
    """By the model that answers: what is local counts as local, whatever tier was wanted."""
    if provider.local:
        return "local"
    return "fast" if model is not None and model == provider.distinct_fast else "full"


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
