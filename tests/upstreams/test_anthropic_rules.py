"""The double's rules: what real clients send passes, and each rule refuses what it is there for.

Sources: recorded requests of real clients (shared/recordings/clients); the sources of `anthropic_rules` itself.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.upstreams.anthropic_rules import SIGNATURE, problem

CLIENTS = Path(__file__).parents[2].parent / "shared" / "recordings" / "clients"
RECORDED = sorted(path.name for path in CLIENTS.glob("*v1_messages*.json"))

HI = {"role": "user", "content": "hi"}
USE = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
RESULT = [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]
THOUGHT = {"type": "thinking", "thinking": "", "signature": SIGNATURE}
X = {"type": "text", "text": "x"}
CALLED = {"role": "assistant", "content": [USE]}
ANSWERED = {"role": "user", "content": RESULT}
F = {"name": "f", "input_schema": {"type": "object"}}
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 8, "messages": [*messages] or [HI]} | more


def blocks(role: str, *content: Any) -> dict[str, Any]:
    return {"role": role, "content": [*content]}


@pytest.mark.skipif(not RECORDED, reason="the recordings of real clients are not on this machine")
@pytest.mark.parametrize("name", RECORDED or ["none"])
def test_what_real_clients_send_passes(name: str):
    recorded = json.loads((CLIENTS / name).read_text())
    headers = {key.lower(): value for key, value in recorded["headers"]}
    betas = headers.get("anthropic-beta", "").split(",")
    counting = recorded["path"].endswith("count_tokens")
    # The picture of this one was replaced by filler when it was recorded.
    expected = (
        "messages.0.content.0.source.base64.data: invalid base64 data" if name.startswith("sdk-anthropic-03") else None
    )
    assert problem(recorded["body"], betas, counting=counting) == expected


@pytest.mark.parametrize(
    "accepted",
    [
        body(),
        body(HI, CALLED, ANSWERED, tools=[F]),
        body(HI, blocks("assistant", {"type": "text", "text": "The answer is"})),
        body(HI, blocks("assistant", THOUGHT, USE), ANSWERED, tools=[F]),
        body(thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2000),
        body(tools=[F], tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True}),
        body(output_config={"effort": "max", "format": {"type": "json_schema", "schema": CLOSED}}),
    ],
)
def test_a_right_body_passes(accepted: dict[str, Any]):
    assert problem(accepted) is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([], "not valid JSON"),
        ({"messages": [HI], "max_tokens": 1}, "model: Field required"),
        ({"messages": [HI], "model": "m"}, "max_tokens: Field required"),
        (body(max_tokens=0), "greater than or equal to 1"),
        (body(max_tokens=128_001), "max_tokens: 128001 > 64000, which is the maximum"),
        (body(n=2), "n: Extra inputs are not permitted"),
        (body(context_management={}), "context_management: Extra inputs are not permitted"),
        (body(stream="yes"), "boolean"),
        (body(metadata={"user": "u"}), "metadata.user"),
        (body(messages=[]), "at least one message"),
        (body({"role": "system", "content": "x"}), "role 'system' is not supported"),
        (body({"role": "tool", "content": "x"}), "role 'tool' is not supported"),
        (body({"role": "user", "content": "x", "name": "n"}), "Extra inputs"),
        (body({"role": "assistant", "content": "x"}), 'first message must use the "user" role'),
        (body(HI, HI), "roles must alternate"),
        (body(blocks("user")), "non-empty content"),
        (body({"role": "user", "content": ""}), "must be non-empty"),
        (body({"role": "user", "content": " \n"}), "must contain non-whitespace text"),
        (body(blocks("user", {"type": "text", "text": "x", "index": 0})), "Extra inputs"),
        (body(blocks("user", {"type": "image_url"})), "'image_url' is not allowed"),
        (body(blocks("user", USE)), "'tool_use' is not allowed"),
        (body(system=[{"type": "text", "text": ""}]), "system: text content blocks must be non-empty"),
        (body(HI, {"role": "assistant", "content": "x "}), "cannot end with trailing whitespace"),
        (body(HI, CALLED, tools=[F]), "`tool_use` ids were found without `tool_result` blocks immediately after: c1"),
        (body(HI, CALLED, HI, tools=[F]), "`tool_use` ids were found without"),
        (body(HI, CALLED, ANSWERED), "must define tools"),
        (body(ANSWERED, tools=[F]), "unexpected `tool_use_id`"),
        (body(HI, CALLED, blocks("user", *RESULT * 2), tools=[F]), "each tool_use must have a single result"),
        (body(HI, CALLED, ANSWERED, CALLED, ANSWERED, tools=[F]), "`tool_use` ids must be unique"),
        (body(HI, CALLED, blocks("user", {**RESULT[0], "content": []}), tools=[F]), "at least 1 item"),
        (body(HI, CALLED, blocks("user", X, *RESULT), tools=[F]), "must come first"),
        (body(HI, blocks("assistant", USE, X), ANSWERED, tools=[F]), "must come last"),
        (body(HI, blocks("assistant", {**USE, "id": "c.1"})), "'^[a-zA-Z0-9_-]+$'"),
        (body(HI, blocks("assistant", {**USE, "input": "{}"})), "valid dictionary"),
        (body(HI, blocks("assistant", {**THOUGHT, "signature": "mine"})), "Invalid `signature`"),
        (body(tools=[F, F]), "Tool names must be unique"),
        (body(tools=[{"type": "function", "function": F}]), "Extra inputs"),
        (body(tools=[{**F, "name": "a.b"}]), "tools.0.custom.name: String should match pattern"),
        (body(tools=[{"name": "f"}]), "input_schema: Field required"),
        (body(tools=[{"name": "f", "input_schema": {}}]), "'object'"),
        (body(tools=[{"name": "f", "input_schema": {"type": "object", "anyOf": []}}]), "at the top level"),
        (body(tools=[{"name": "f", "input_schema": {"type": "object", "required": "a"}}]), "JSON schema is invalid"),
        (body(tools=[{"name": "f", "input_schema": {"type": "object", "properties": {"é": {}}}}]), "Property keys"),
        (body(tool_choice={"type": "auto"}), "while providing tools"),
        (body(tools=[F], tool_choice={"type": "required"}), "'any'"),
        (body(tools=[F], tool_choice={"type": "tool", "name": "g"}), "Tool 'g' not found"),
        (body(tools=[F], tool_choice={"type": "none", "disable_parallel_tool_use": True}), "Extra inputs"),
        (body(temperature=1.1), "temperature: range: 0..1"),
        (body(temperature=0.5, top_p=0.5), "cannot both be specified"),
        (body(stop_sequences=["\n"]), "each stop sequence must contain non-whitespace"),
        (body(thinking={"type": "on"}), "thinking: Input tag 'on'"),
        (body(thinking={"type": "enabled", "budget_tokens": 100}), "1024"),
        (body(thinking={"type": "adaptive"}, tools=[F], tool_choice={"type": "any"}), "Thinking may not be enabled"),
        (body(thinking={"type": "adaptive"}, temperature=0.2), "may only be set to 1 when thinking is enabled"),
        (body(output_config={"effort": "none"}), "output_config.effort"),
        (body(output_config={"format": {"type": "json_object"}}), "'json_schema'"),
        (body(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}), "set to false"),
    ],
)  # fmt: skip
def test_a_wrong_body_is_refused_with_the_apis_words(wrong: Any, words: str):
    assert words in (problem(wrong) or "")


def test_newer_models_do_not_go_on_from_the_assistants_words():
    prefilled = body(HI, {"role": "assistant", "content": "x"})
    assert "prefill" in (problem(prefilled, prefill=False) or "")
    assert problem(prefilled) is None


def test_older_models_take_no_system_turn():
    told = body(HI, {"role": "system", "content": "x"})
    assert "role 'system' is not supported" in (problem(told) or "")
    assert problem(told, system_turns=True) is None
