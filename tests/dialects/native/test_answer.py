"""Source: completions.md ("Responses")."""

import orjson

from appliance.dialects.chat import Event, Finish, ReasoningDelta, TextDelta, Usage
from appliance.dialects.native.answer import whole

ROUTING = {"task": "simple", "tier": "fast", "provider": "ollama", "model": "m"}
EVENTS: list[Event] = [
    ReasoningDelta("Hm."),
    TextDelta("Thanks Marie, "),
    TextDelta("é."),
    Finish("stop", Usage(142, 14)),
]


def test_the_seed_s_shape():
    facts = [{"category": "contact", "key": "phone", "value": "06 12 34 56 78", "confidence": 0.97}]
    assert orjson.loads(whole(EVENTS, extracted=facts, routing=ROUTING, latency_ms=12)) == {
        "content": "Thanks Marie, é.",
        "usage": {"promptTokens": 142, "completionTokens": 14, "totalTokens": 156},
        "extracted": facts,
        "routing": ROUTING,
        "latencyMs": 12,
    }


def test_an_answer_without_a_word():
    said = orjson.loads(whole([Finish("length", Usage(7, 0))], extracted=(), routing={}, latency_ms=0))
    assert (said["content"], said["extracted"], said["usage"]["totalTokens"]) == ("", [], 7)
