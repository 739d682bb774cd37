"""Source: synapse.md, "Metering and cost": local models cost zero; compared with what the configured full model
would have cost."""

from collections.abc import Callable

import pytest

from appliance.calls.costs import Costs, costs
from appliance.calls.policy import LocalModels, Policy, Provider, local_lane
from appliance.dialects.chat import Usage

PER_TOKEN = {
    ("openai", "gpt-4o"): 10,
    ("openai", "gpt-4o-mini"): 1,
    ("mistral", "mistral-large"): 8,
    ("rack", "qwen3"): 2,
}


class Priced:
    def cost(self, provider: str, model: str, *, prompt_tokens: int, completion_tokens: int) -> int | None:
        each = PER_TOKEN.get((provider, model))
        return None if each is None else each * (prompt_tokens + 2 * completion_tokens)


def found(policy: Policy, provider: Provider, model: str) -> Costs:
    return costs(policy, Priced(), provider, model, Usage(100, 50))


def test_a_fast_answer_is_compared_with_the_full_model(policy: Callable[..., Policy]):
    here = policy(active="openai")
    assert found(here, here.providers["openai"], "gpt-4o-mini") == (200, 2_000)
    assert found(here, here.providers["openai"], "gpt-4o") == (2_000, 2_000)


def test_the_full_model_is_that_of_the_first_provider_of_the_list_that_is_configured(policy: Callable[..., Policy]):
    here = policy(allow=("nowhere", "mistral", "openai"))
    assert found(here, here.providers["openai"], "gpt-4o-mini") == (200, 1_600)


def test_a_local_answer_is_free_and_saves_what_the_full_model_costs(policy: Callable[..., Policy]):
    here = policy(active="openai")
    assert found(here, local_lane(here), "llama3.1") == (0, 2_000)


def test_where_calls_stay_local_there_is_nothing_to_save(policy: Callable[..., Policy]):
    here = policy()
    assert found(here, local_lane(here), "llama3.1") == (0, 0)


def test_a_price_that_is_not_known_makes_no_cost_of_zero(policy: Callable[..., Policy]):
    here = policy(active="anthropic")
    assert found(here, here.providers["anthropic"], "claude-sonnet-4-6") == (None, None)
    assert found(here, local_lane(here), "llama3.1") == (0, None)


def test_a_compatible_server_is_priced_by_its_name(policy: Callable[..., Policy]):
    here = policy(active="rack")
    assert found(here, here.providers["rack"], "qwen3") == (400, 400)


@pytest.mark.parametrize("settings", [{"active": "nowhere"}, {"allow": ("unset",)}])
def test_without_a_full_model_there_is_nothing_to_compare(policy: Callable[..., Policy], settings: dict[str, object]):
    here = policy(local=LocalModels(full="llama3.1"), **settings)
    assert found(here, local_lane(here), "llama3.1") == (0, None)
