from appliance.calls.call import DIALECTS
from appliance.gateway.chat_completions import ENDPOINT


def test_every_endpoint_that_takes_calls_has_a_dialect():
    assert DIALECTS[ENDPOINT] == "openai"
