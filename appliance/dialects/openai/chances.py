"""Reads the `logprobs` of a chunk: the chances of the tokens that the model chose, and of those it did not.

Source: the OpenAI API reference, "The chat completion chunk object".
"""

from typing import cast

from appliance.dialects.chat import TokenChance
from appliance.dialects.upstream import ProviderError


def chances(value: object) -> tuple[TokenChance, ...]:
    """Of the tokens of `content` and of `refusal`, one of which a chunk holds. Raises ProviderError."""
    if value is None:
        return ()
    fields = _fields(value)
    return tuple(_chance(one) for name in ("content", "refusal") for one in _list(fields, name))


def _chance(value: object) -> TokenChance:
    fields = _fields(value)
    token, logprob = _token(fields)
    alternatives = tuple(TokenChance(*_token(_fields(one))) for one in _list(fields, "top_logprobs"))
    return TokenChance(token, logprob, alternatives)


def _token(fields: dict[str, object]) -> tuple[str, float]:
    token, logprob = fields.get("token"), fields.get("logprob")
    if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, int | float):
        raise _wrong()
    return token, float(logprob)


def _list(fields: dict[str, object], name: str) -> list[object]:
    value = fields.get(name)
    if value is not None and not isinstance(value, list):
        raise _wrong()
    return cast("list[object]", value or [])


def _fields(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _wrong()
    return cast("dict[str, object]", value)


def _wrong() -> ProviderError:
    return ProviderError("failed", "It sent a chunk whose `logprobs` are not those of tokens.")
