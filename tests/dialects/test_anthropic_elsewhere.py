"""A conversation in Anthropic's dialect that goes to Ollama or to Mistral: every text, picture, call and result of it.

Sources: dialects.md §1.2 ("Blocks"), §2 and §4, 20; architecture.md, rule 1 ("Nothing with an effect is dropped
silently").
"""

import json
from typing import Any

from hypothesis import given, settings

from appliance.dialects.anthropic import request
from appliance.dialects.chat import Chat
from appliance.dialects.mistral import upstream as mistral
from appliance.dialects.mistral.turns import BETWEEN, ID_CHARACTERS
from appliance.dialects.ollama.body import Target, prepare
from tests.dialects.conversations import anthropic

Json = dict[str, Any]
Turn = tuple[str, list[str], list[str], list[tuple[str, Any]]]
"""Who says it, its texts, its pictures and its calls."""


def of(asked: Json) -> Chat:
    return request.parse(json.dumps({"max_tokens": 9, **asked}).encode()).chat


def listed(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def turn(role: str, content: str | list[Json]) -> Turn:
    blocks = listed(content)
    return (
        role,
        [one["text"] for one in blocks if one["type"] == "text"],
        [one["source"]["data"] for one in blocks if one["type"] == "image"],
        [(one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"],
    )


def turns(asked: Json) -> list[Turn]:
    """The conversation, each result as a turn of its own before what the user says beside it."""
    told = [turn("system", asked["system"])] if "system" in asked else []
    for message in asked["messages"]:
        blocks = listed(message["content"])
        results = [one for one in blocks if one["type"] == "tool_result"]
        told += [turn("tool", one.get("content", [])) for one in results]
        if len(results) < len(blocks):
            told.append(turn(message["role"], [one for one in blocks if one["type"] != "tool_result"]))
    return told


@settings(deadline=None)
@given(anthropic())
def test_ollama_s_messages(asked: Json):
    sent = json.loads(prepare(of(asked), Target("m"), new_id=str).body)["messages"]
    arrived = [
        (
            one["role"],
            one["content"],
            one.get("images", []),
            [(call["function"]["name"], call["function"]["arguments"]) for call in one.get("tool_calls", [])],
        )
        for one in sent
    ]
    assert arrived == [
        (role, ("" if role == "assistant" else "\n").join(texts), pictures, calls)
        for role, texts, pictures, calls in turns(asked)
    ]
    assert answered(sent) == results(asked)


@settings(deadline=None)
@given(anthropic())
def test_mistral_s_messages(asked: Json):
    sent = json.loads(mistral.written(of(asked), model="m", new_id=str).body)["messages"]
    between = {"role": "assistant", "content": BETWEEN.text}
    arrived: list[Turn] = []
    for before, one in zip([{}, *sent], sent, strict=False):
        assert (before.get("role"), one["role"]) != ("tool", "user"), "Mistral refuses it"
        calls = [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls_of(one)]
        parts = listed(one["content"])
        pictures = [part["image_url"]["url"].split(",")[1] for part in parts if part["type"] == "image_url"]
        texts = [part["text"] for part in parts if part["type"] == "text" and part["text"]]
        if one != between:
            arrived.append((one["role"], texts, pictures, calls))
    assert arrived == [
        (role, texts if pictures or role == "assistant" or not texts else ["\n".join(texts)], pictures, calls)
        for role, texts, pictures, calls in turns(asked)
    ]
    ids = [call["id"] for one in sent for call in calls_of(one)]
    assert all(len(one) == ID_CHARACTERS and one.isalnum() for one in ids)
    assert answered(sent) == results(asked)


def calls_of(message: Json) -> list[Json]:
    return message.get("tool_calls", [])


def answered(messages: list[Json]) -> list[int]:
    """Which of all calls each result answers."""
    ids = [call["id"] for one in messages for call in calls_of(one)]
    return [ids.index(one["tool_call_id"]) for one in messages if one["role"] == "tool"]


def results(asked: Json) -> list[int]:
    """The same of the conversation itself."""
    blocks = [block for one in asked["messages"] for block in listed(one["content"])]
    ids = [one["id"] for one in blocks if one["type"] == "tool_use"]
    return [ids.index(one["tool_use_id"]) for one in blocks if one["type"] == "tool_result"]
