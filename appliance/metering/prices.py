"""What models cost: the public prices that come with the package genai-prices, and an administrator's own over them.

Must not know calls or policy. Reads nothing from the network: the data is part of the installed package.
Source: routing.md ("Metering"): integer micro-dollars, overridable.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from genai_prices import Usage, calc_price
from genai_prices.types import PriceCalculation

from appliance.ids import Clock

MILLION = 1_000_000

CATALOGUED = frozenset({"openai", "anthropic", "mistral"})
"""The providers whose public prices count. The catalogue would take a server that merely speaks OpenAI's dialect
for OpenAI itself."""

_SAMPLE = 1_000
"""Tokens that a price for one is taken from: few enough to be in the first tier of every price list."""


class Rate(NamedTuple):
    """Micro-dollars for a million tokens of prompt and of answer. Dollars for a million, times a million."""

    prompt: int
    completion: int


class Prices:
    """Prices by provider and model. A provider is called as it is outside: by its kind, or for an
    `openai-compatible` one by its name.

    `own` goes before the catalogue; `clock` says which of a model's prices is the present one.
    """

    def __init__(self, own: Mapping[tuple[str, str], Rate], clock: Clock) -> None:
        self._own = own
        self._clock = clock

    def rate(self, provider: str, model: str) -> Rate | None:
        """The price of small calls, None where it is not known."""
        if (own := self._own.get((provider, model))) is not None:
            return own
        found = self._catalogued(provider, model, _SAMPLE, _SAMPLE)
        if found is None:
            return None
        million = MILLION // _SAMPLE
        return Rate(_micro(found.input_price * million), _micro(found.output_price * million))

    def get(self, named: tuple[str, str], /) -> int | None:
        """What routing compares: micro-dollars for a million tokens of prompt and a million of answer together."""
        rate = self.rate(*named)
        return None if rate is None else rate.prompt + rate.completion

    def cost(self, provider: str, model: str, *, prompt_tokens: int, completion_tokens: int) -> int | None:
        """Micro-dollars of one call at its present price, rounded to the nearest; None where it is not known.

        Prices that rise with the prompt's length are followed; discounts for cached prompts are not.
        """
        if (own := self._own.get((provider, model))) is not None:
            return _nearest(prompt_tokens * own.prompt + completion_tokens * own.completion)
        found = self._catalogued(provider, model, prompt_tokens, completion_tokens)
        return None if found is None else _micro(found.total_price)

    def _catalogued(self, provider: str, model: str, prompt: int, completion: int) -> PriceCalculation | None:
        if provider not in CATALOGUED:
            return None
        usage = Usage(input_tokens=prompt, output_tokens=completion)
        try:
            found = calc_price(usage, model, provider_id=provider, genai_request_timestamp=self._clock())
        except (LookupError, ValueError):  # not in the catalogue, or not to be priced by tokens
            return None
        price = found.model_price
        # A model without a price for one of them is paid in another way, such as by the minute: not known, not free.
        return None if price.input_mtok is None or price.output_mtok is None else found


def _micro(dollars: Decimal) -> int:
    return int((dollars * MILLION).to_integral_value(ROUND_HALF_UP))


def _nearest(micro_times_million: int) -> int:
    return (micro_times_million + MILLION // 2) // MILLION
