"""The shape is that of the OpenAI API reference, "The chat completion chunk object"."""

import pytest

from appliance.dialects.chat import TokenChance
from appliance.dialects.openai.chances import chances
from appliance.dialects.upstream import ProviderError


def test_tokens_and_their_alternatives():
    hello = {"token": "Hello", "logprob": -0.5, "bytes": [72], "top_logprobs": [{"token": "Hi", "logprob": -2}]}
    assert chances({"content": [hello], "refusal": None}) == (TokenChance("Hello", -0.5, (TokenChance("Hi", -2.0),)),)
    assert chances({"content": None, "refusal": [{"token": "No", "logprob": 0}]}) == (TokenChance("No", 0.0),)
    assert chances(None) == chances({}) == chances({"content": []}) == ()


@pytest.mark.parametrize(
    "wrong",
    [[], "x", {"content": {}}, {"content": ["Hi"]}, {"content": [{"token": 1, "logprob": 0}]},
     {"content": [{"token": "Hi", "logprob": None}]}, {"content": [{"token": "Hi", "logprob": True}]},
     {"content": [{"token": "Hi", "logprob": 0, "top_logprobs": [{}]}]}],
)  # fmt: skip
def test_what_is_none(wrong: object):
    with pytest.raises(ProviderError, match="logprobs"):
        chances(wrong)
