from appliance.calls import address
from appliance.calls.entries import ENTRIES
from appliance.gateway.chat_completions import OpenAIDoor
from appliance.gateway.messages import AnthropicDoor


def test_every_endpoint_that_takes_calls_has_a_dialect():
    doors = {door.endpoint for door in (OpenAIDoor(), AnthropicDoor())}
    assert {endpoint: entry.dialect for endpoint, entry in ENTRIES.items()} == {
        "/v1/chat/completions": "openai",
        "/v1/messages": "anthropic",
    }
    assert doors == ENTRIES.keys()


def test_the_anthropic_dialect_tells_less_of_an_address():
    # model-addressing.md, "Where the address shows up in a certificate"
    asked = address.parse("agent:cfo+nomemory")
    assert ENTRIES["/v1/chat/completions"].address(asked) == {"kind": "agent", "agent": "cfo", "memory": False}
    assert ENTRIES["/v1/messages"].address(asked) == {"kind": "agent", "agent": "cfo"}
