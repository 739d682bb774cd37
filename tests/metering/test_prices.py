"""Expected prices are those that the providers publish (openai.com/api/pricing, anthropic.com/pricing,
mistral.ai/pricing), for models whose prices have not changed for a year."""

import socket
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from genai_prices import Usage, calc_price
from hypothesis import given
from hypothesis import strategies as st

from appliance.metering.prices import Prices, Rate

NOW = datetime(2026, 11, 29, tzinfo=UTC)
PRICES = Prices({}, lambda: NOW)


@pytest.mark.parametrize(
    ("provider", "model", "rate"),
    [
        ("openai", "gpt-4o", Rate(2_500_000, 10_000_000)),
        ("openai", "gpt-4o-2024-08-06", Rate(2_500_000, 10_000_000)),
        ("openai", "gpt-4o-mini", Rate(150_000, 600_000)),
        ("anthropic", "claude-sonnet-4-5", Rate(3_000_000, 15_000_000)),
        ("anthropic", "claude-haiku-4-5", Rate(1_000_000, 5_000_000)),
        ("mistral", "mistral-large-latest", Rate(2_000_000, 6_000_000)),
    ],
)
def test_public_prices_in_micro_dollars_for_a_million_tokens(provider: str, model: str, rate: Rate):
    assert PRICES.rate(provider, model) == rate
    assert PRICES.get((provider, model)) == rate.prompt + rate.completion
    million = PRICES.cost(provider, model, prompt_tokens=10_000, completion_tokens=1_000)
    assert million == rate.prompt // 100 + rate.completion // 1000


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "no-such-model"),
        ("openai", ""),
        ("mistral", "gpt-4o"),
        # Paid by the minute, so that a token's price of nothing would be wrong.
        ("openai", "whisper-1"),
        # Speaks OpenAI's dialect, and is not OpenAI, whose name the catalogue looks for inside of others.
        ("openai-compatible", "gpt-4o"),
        ("my-openai", "gpt-4o"),
        ("rack", "qwen3"),
        ("ollama", "llama3.2"),
    ],
)
def test_what_is_not_known_is_none_and_not_free(provider: str, model: str):
    assert PRICES.rate(provider, model) is None
    assert PRICES.get((provider, model)) is None
    assert PRICES.cost(provider, model, prompt_tokens=1, completion_tokens=1) is None


def test_a_long_prompt_costs_what_the_provider_asks_for_it():
    # anthropic.com/pricing: Sonnet 4.5 above 200 000 tokens of prompt is $6 and $22.50.
    assert PRICES.cost("anthropic", "claude-sonnet-4-5", prompt_tokens=300_000, completion_tokens=1_000) == 1_822_500
    assert PRICES.rate("anthropic", "claude-sonnet-4-5") == Rate(3_000_000, 15_000_000)


def test_an_administrators_own_price_goes_first():
    own = Prices({("openai", "gpt-4o"): Rate(1_000_000, 2_000_000), ("rack", "qwen3"): Rate(0, 0)}, lambda: NOW)
    assert own.rate("openai", "gpt-4o") == (1_000_000, 2_000_000)
    assert own.get(("openai", "gpt-4o")) == 3_000_000
    assert own.cost("openai", "gpt-4o", prompt_tokens=1_000, completion_tokens=500) == 2_000
    assert own.rate("rack", "qwen3") == (0, 0)
    assert own.get(("rack", "qwen3")) == 0
    assert own.cost("rack", "qwen3", prompt_tokens=5, completion_tokens=5) == 0
    assert own.rate("openai", "gpt-4o-mini") == PRICES.rate("openai", "gpt-4o-mini")


@pytest.mark.parametrize(
    ("prompt_tokens", "cost"), [(0, 0), (1, 0), (3, 0), (4, 1), (10, 2), (14, 2), (18, 3), (1_000, 150)]
)
def test_a_cost_is_rounded_to_the_nearest_micro_dollar(prompt_tokens: int, cost: int):
    # $0.15 for a million tokens is 0.15 micro-dollars each; halves go up.
    own = Prices({("rack", "m"): Rate(150_000, 0)}, lambda: NOW)
    assert PRICES.cost("openai", "gpt-4o-mini", prompt_tokens=prompt_tokens, completion_tokens=0) == cost
    assert own.cost("rack", "m", prompt_tokens=prompt_tokens, completion_tokens=0) == cost


@given(st.integers(0, 10**7), st.integers(0, 10**6))
def test_own_prices_and_public_ones_are_added_up_alike(prompt: int, completion: int):
    own = Prices({("rack", "m"): Rate(2_500_000, 10_000_000)}, lambda: NOW)
    public = PRICES.cost("openai", "gpt-4o", prompt_tokens=prompt, completion_tokens=completion)
    assert own.cost("rack", "m", prompt_tokens=prompt, completion_tokens=completion) == public


def test_a_price_is_that_of_the_day():
    # openai.com, 10 June 2025: o3 costs $2 and $8 from this day on, after $10 and $40.
    before = Prices({}, lambda: datetime(2025, 6, 1, tzinfo=UTC))
    assert before.rate("openai", "o3") == (10_000_000, 40_000_000)
    assert before.cost("openai", "o3", prompt_tokens=100, completion_tokens=0) == 1_000
    assert PRICES.rate("openai", "o3") == (2_000_000, 8_000_000)
    assert PRICES.cost("openai", "o3", prompt_tokens=100, completion_tokens=0) == 200


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Prices({}, lambda: NOW).rate("openai", "o3") is not None


TEN = [
    ("openai", "gpt-4o"),
    ("openai", "gpt-4o-mini"),
    ("openai", "gpt-4.1"),
    ("openai", "gpt-4.1-nano"),
    ("openai", "o3"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-haiku-4-5"),
    ("anthropic", "claude-3-5-haiku-latest"),
    ("mistral", "mistral-large-latest"),
    ("mistral", "mistral-small-latest"),
]


@pytest.mark.parametrize(("provider", "model"), TEN)
@given(prompt=st.integers(0, 2_000_000), completion=st.integers(0, 200_000))
def test_ten_models_cost_what_the_package_says_to_the_micro_dollar(
    provider: str, model: str, prompt: int, completion: int
):
    usage = Usage(input_tokens=prompt, output_tokens=completion)
    said = calc_price(usage, model, provider_id=provider, genai_request_timestamp=NOW).total_price
    cost = PRICES.cost(provider, model, prompt_tokens=prompt, completion_tokens=completion)
    assert cost is not None
    assert abs(Fraction(said) * 1_000_000 - cost) <= Fraction(1, 2)
    assert cost > 0 or prompt + completion < 20
