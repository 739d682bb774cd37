from appliance.calls import address
from appliance.calls.entries import ENTRIES, EXTRACTION
from appliance.gateway.chat_completions import OpenAIDoor
from appliance.gateway.complete import NativeDoor
from appliance.gateway.messages import AnthropicDoor


def test_every_endpoint_that_takes_calls_has_a_dialect():
    doors = {door.endpoint for door in (OpenAIDoor, AnthropicDoor, NativeDoor)}
    assert {endpoint: entry.dialect for endpoint, entry in ENTRIES.items()} == {
        "/v1/chat/completions": "openai",
        "/v1/messages": "anthropic",
        "/v1/ai/complete": "native",
        EXTRACTION: "native",
    }
    assert doors == ENTRIES.keys() - {EXTRACTION}


def test_only_the_native_endpoint_is_internal_has_a_limit_of_its_own_and_asks_again():
    # completions.md, "Errors" (30 requests a minute); proofs.md (its certificates)
    said = {path: (entry.internal, entry.requests_per_minute, entry.asks_again) for path, entry in ENTRIES.items()}
    assert said.pop("/v1/ai/complete") == (True, 30, True)
    assert said.pop(EXTRACTION) == (True, None, False)
    assert set(said.values()) == {(False, None, False)}


def test_only_an_extraction_is_no_question_and_is_read_whatever_it_says():
    # completions.md: "Extraction cost is a system cost".
    said = {path: (entry.task, entry.charged, entry.judged) for path, entry in ENTRIES.items()}
    assert said.pop(EXTRACTION) == ("extraction", False, False)
    assert set(said.values()) == {(None, True, True)}


def test_the_anthropic_dialect_tells_less_of_an_address():
    # model-addressing.md, "Where the address shows up in a certificate"
    asked = address.parse("agent:cfo+nomemory")
    assert ENTRIES["/v1/chat/completions"].address(asked) == {"kind": "agent", "agent": "cfo", "memory": False}
    assert ENTRIES["/v1/messages"].address(asked) == {"kind": "agent", "agent": "cfo"}
