"""Providers and policies that the tables of the tests speak of."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from appliance.calls.policy import LocalModels, Policy, Provider

PROVIDERS = (
    Provider("openai", "openai", "gpt-4o", "gpt-4o-mini", local=False),
    Provider("mistral", "mistral", "mistral-large", "mistral-small", local=False),
    Provider("anthropic", "anthropic", "claude-sonnet-4-6", None, local=False),
    Provider("rack", "openai-compatible", "qwen3", "qwen3", local=False),
    Provider("unset", "openai", None, "gpt-4o-mini", local=False),
)


@pytest.fixture
def policy() -> Callable[..., Policy]:
    """`policy(active=…, allow=…, …)`: the defaults of routing.md, with every provider of the tables configured."""
    base = Policy(providers={provider.name: provider for provider in PROVIDERS}, local=LocalModels(full="llama3.1"))
    return lambda **settings: replace(base, **settings)
