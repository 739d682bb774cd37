"""What Anthropic's Messages API refuses of a body, in its own words where they are known.

As strict as the strictest of its models: whatever some of them take and others not is refused. Sources: the types of
PyPI `anthropic` 2.14.0; Anthropic's documentation ("Messages", "Errors", "Structured outputs", "Extended thinking");
error texts in public issues (anthropics/claude-code 3512, 13460, 20901, 23369, 24451, 40075, 52433;
anthropics/anthropic-sdk-python 494, 893; BerriAI/litellm 3286; tailcallhq/forgecode 1872; vercel/ai 13013).
"""

import base64
import binascii
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from tests.upstreams.anthropic_schemas import check_format, check_input_schema

Json = dict[str, Any]

MAX_OUTPUT = 64_000
"""Tokens: of the smallest of the models since Claude 4.5."""

SIGNATURE = "sig_"
"""How the signatures of thinking begin that the double has given out itself."""

_FIELDS = {
    "model", "max_tokens", "messages", "cache_control", "container", "diagnostics", "inference_geo", "metadata",
    "output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "thinking", "tool_choice", "tools",
    "temperature", "top_p", "top_k",
}  # fmt: skip
_BETA_FIELDS = {"context_management": "context-management-2025-06-27"}
_SYSTEM_ROLE = "mid-conversation-system-2026-04-07"
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/webp": b"RIFF", "image/gif": b"GIF8"}


class Refused(Exception):
    """The text of an `invalid_request_error`."""


def problem(
    body: object,
    betas: Iterable[str] = (),
    *,
    prefill: bool = True,
    system_turns: bool = False,
    counting: bool = False,
) -> str | None:
    """What the API would say against a body, None if nothing. `counting` is for `count_tokens`, without an answer.

    `system_turns`: whether the model takes the role `system` among the messages, which older ones do not.
    """
    try:
        _body(body, frozenset(betas), prefill=prefill, system_turns=system_turns, counting=counting)
    except Refused as refused:
        return str(refused)
    return None


def _need(holds: object, text: str) -> None:
    if not holds:
        raise Refused(text)


def _body(body: Any, betas: frozenset[str], *, prefill: bool, system_turns: bool, counting: bool) -> None:
    _need(isinstance(body, dict), "The request body is not valid JSON")
    for name in body.keys() - _FIELDS:
        _need(_BETA_FIELDS.get(name) in betas, f"{name}: Extra inputs are not permitted")
    _need("model" in body, "model: Field required")
    _need(isinstance(body["model"], str) and body["model"], "model: String should have at least 1 character")
    if not counting:
        _max_tokens(body)
    _need("messages" in body, "messages: Field required")
    _system(body.get("system"))
    _messages(body["messages"], system_role=system_turns or _SYSTEM_ROLE in betas, prefill=prefill)
    _tools(body)
    _sampling(body)
    _thinking(body)
    _output(body.get("output_config", {}))
    _need(isinstance(body.get("stream", False), bool), "stream: Input should be a valid boolean")
    unknown = body.get("metadata", {}).keys() - {"user_id"}
    _need(not unknown, f"metadata.{min(unknown, default='')}: Extra inputs are not permitted")


def _max_tokens(body: Json) -> None:
    _need("max_tokens" in body, "max_tokens: Field required")
    tokens = body["max_tokens"]
    _need(isinstance(tokens, int) and not isinstance(tokens, bool), "max_tokens: Input should be a valid integer")
    _need(tokens >= 1, "max_tokens: must be greater than or equal to 1")
    _need(
        tokens <= MAX_OUTPUT,
        f"max_tokens: {tokens} > {MAX_OUTPUT}, which is the maximum allowed number of output tokens for "
        f"{body['model']}",
    )


def _system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    _need(isinstance(system, list), "system: Input should be a valid array")
    for i, block in enumerate(system):
        _need(block.get("type") == "text", f"system.{i}.type: Input should be 'text'")
        _text(block, "system")


def _messages(messages: Any, *, system_role: bool, prefill: bool) -> None:
    _need(isinstance(messages, list) and messages, "messages: at least one message is required")
    roles = ("user", "assistant", "system") if system_role else ("user", "assistant")
    blocks: list[list[Json]] = []
    kept: list[Json] = []
    for i, message in enumerate(messages):
        _need(isinstance(message, dict), f"messages.{i}: Input should be an object")
        _need(message.keys() == {"role", "content"}, f"messages.{i}: Extra inputs are not permitted")
        role = message["role"]
        _need(role in roles, f"messages.{i}: role '{role}' is not supported on this model")
        content = _content(message, i)
        if role != "system":
            kept.append(message)
            blocks.append(content)
    _need(kept and kept[0]["role"] == "user", 'messages: first message must use the "user" role')
    for before, after in pairwise(kept):
        _need(
            before["role"] != after["role"],
            f'messages: roles must alternate between "user" and "assistant", but found multiple "{after["role"]}" '
            "roles in a row",
        )
    _pairs([message["role"] for message in kept], blocks)
    if kept[-1]["role"] == "assistant":
        _need(
            prefill,
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
        last = blocks[-1][-1].get("text", "")
        _need(last == last.rstrip(), "messages: final assistant content cannot end with trailing whitespace")


def _content(message: Json, i: int) -> list[Json]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    _need(isinstance(content, list), f"messages.{i}.content: Input should be a valid list")
    _need(content, f"messages.{i}: all messages must have non-empty content")
    for j, block in enumerate(content):
        at = f"messages.{i}.content.{j}"
        _need(isinstance(block, dict), f"{at}: Input should be an object")
        checks = _BLOCKS.get((message["role"], block.get("type")))
        _need(checks, f"{at}: Input tag '{block.get('type')}' is not allowed for the role {message['role']}")
        checks(block, at)
    return content


def _fields(block: Json, at: str, *names: str) -> None:
    unknown = block.keys() - {"type", "cache_control", *names}
    _need(not unknown, f"{at}.{min(unknown, default='')}: Extra inputs are not permitted")


def _text(block: Json, at: str) -> None:
    _fields(block, at, "text", "citations")
    where = at.split(".")[0]
    _need(isinstance(block.get("text"), str), f"{at}.text: Field required")
    _need(block["text"], f"{where}: text content blocks must be non-empty")
    _need(block["text"].strip(), f"{where}: text content blocks must contain non-whitespace text")


def _image(block: Json, at: str) -> None:
    _fields(block, at, "source")
    source = block.get("source", {})
    _need(source.get("type") == "base64", f"{at}.source.type: Input should be 'base64'")
    magic = _MAGIC.get(source.get("media_type"))
    _need(
        magic, f"{at}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
    )
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError, KeyError):
        raise Refused(f"{at}.source.base64.data: invalid base64 data") from None
    _need(data.startswith(magic or b""), f"{at}.source.base64: The image does not match the provided media type")


def _document(block: Json, at: str) -> None:
    _fields(block, at, "source", "title", "context", "citations")
    _need(isinstance(block.get("source"), dict), f"{at}.source: Field required")


def _tool_use(block: Json, at: str) -> None:
    _fields(block, at, "id", "name", "input", "caller")
    _need(_ID.match(str(block.get("id"))), f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    _need(_NAME.match(str(block.get("name"))), f"{at}.tool_use.name: String should match pattern '{_NAME.pattern}'")
    _need(isinstance(block.get("input"), dict), f"{at}.tool_use.input: Input should be a valid dictionary")


def _tool_result(block: Json, at: str) -> None:
    _fields(block, at, "tool_use_id", "content", "is_error")
    _need(isinstance(block.get("is_error", False), bool), f"{at}.tool_result.is_error: Input should be a valid boolean")
    content = block.get("content", "")
    if isinstance(content, str):
        return
    _need(content, f"{at}.tool_result.content: List should have at least 1 item")
    for k, inner in enumerate(content):
        check = {"text": _text, "image": _image}.get(inner.get("type"))
        _need(check, f"{at}.content.{k}: Input tag '{inner.get('type')}' is not allowed in a tool result")
        check(inner, f"{at}.content.{k}")


def _thought(block: Json, at: str) -> None:
    _fields(block, at, "thinking", "signature", "data")
    given = str(block.get("signature", block.get("data", "")))
    _need(given.startswith(SIGNATURE), f"{at}: Invalid `signature` in `thinking` block")


_BLOCKS: dict[tuple[str, Any], Any] = {
    ("user", "text"): _text,
    ("user", "image"): _image,
    ("user", "document"): _document,
    ("user", "tool_result"): _tool_result,
    ("system", "text"): _text,
    ("assistant", "text"): _text,
    ("assistant", "tool_use"): _tool_use,
    ("assistant", "thinking"): _thought,
    ("assistant", "redacted_thinking"): _thought,
}


def _pairs(roles: list[str], blocks: list[list[Json]]) -> None:
    """Every call has its one result at the beginning of the next message, and every result its call before."""
    seen: set[str] = set()
    for i, (role, content) in enumerate(zip(roles, blocks, strict=True)):
        kinds = [block["type"] for block in content]
        special = "tool_use" if role == "assistant" else "tool_result"
        ordered = sorted(kinds, key=lambda kind: (kind == special) == (role == "assistant"))
        _need(
            kinds == ordered, f"messages.{i}: `{special}` blocks must come {'last' if role == 'assistant' else 'first'}"
        )
        for j, block in enumerate(content):
            if block["type"] == "tool_use":
                _need(block["id"] not in seen, f"messages.{i}.content.{j}: `tool_use` ids must be unique")
                seen.add(block["id"])
        _answered(i, content, blocks[i + 1] if i + 1 < len(blocks) else [])
        _expected(i, content, blocks[i - 1] if i else [])


def _answered(i: int, content: list[Json], following: list[Json]) -> None:
    results = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
    missing = [block["id"] for block in content if block["type"] == "tool_use" and block["id"] not in results]
    _need(
        not missing,
        f"messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
    )


def _expected(i: int, content: list[Json], before: list[Json]) -> None:
    calls = {block["id"] for block in before if block["type"] == "tool_use"}
    seen: set[str] = set()
    for j, block in enumerate(content):
        if block["type"] != "tool_result":
            continue
        given = block.get("tool_use_id")
        _need(
            given in calls,
            f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {given}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
        )
        _need(
            given not in seen,
            f"messages.{i}.content.{j}: each tool_use must have a single result. Found multiple `tool_result` blocks "
            f"with id: {given}",
        )
        seen.add(given)


def _tools(body: Json) -> None:
    tools = body.get("tools", [])
    used = any(
        block["type"] in ("tool_use", "tool_result")
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    )
    _need(tools or not used, "Requests which include `tool_use` or `tool_result` blocks must define tools")
    for i, tool in enumerate(tools):
        at = f"tools.{i}.custom"
        _fields(tool, at, "name", "description", "input_schema", "strict", "eager_input_streaming", "defer_loading")
        _need(_NAME.match(str(tool.get("name"))), f"{at}.name: String should match pattern '{_NAME.pattern}'")
        _need(isinstance(tool.get("description", ""), str), f"{at}.description: Input should be a valid string")
        _need(isinstance(tool.get("input_schema"), dict), f"{at}.input_schema: Field required")
        wrong = check_input_schema(tool["input_schema"])
        _need(wrong is None, f"{at}.input_schema: {wrong}")
    names = [tool["name"] for tool in tools]
    _need(len(names) == len(set(names)), "tools: Tool names must be unique.")
    if "tool_choice" in body:
        _tool_choice(body["tool_choice"], names)


def _tool_choice(choice: Json, names: list[str]) -> None:
    allowed = {
        "auto": {"disable_parallel_tool_use"},
        "any": {"disable_parallel_tool_use"},
        "tool": {"disable_parallel_tool_use", "name"},
        "none": set[str](),
    }
    _need(names, "tool_choice: tool_choice may only be specified while providing tools")
    _need(choice.get("type") in allowed, "tool_choice: Input should be 'auto', 'any', 'tool' or 'none'")
    unknown = choice.keys() - {"type"} - allowed[choice["type"]]
    _need(not unknown, f"tool_choice.{choice['type']}.{min(unknown, default='')}: Extra inputs are not permitted")
    if choice["type"] == "tool":
        _need(
            choice.get("name") in names,
            f"tool_choice.tool.name: Tool '{choice.get('name')}' not found in provided tools",
        )


def _sampling(body: Json) -> None:
    for name in ("temperature", "top_p"):
        if name in body:
            value = body[name]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            _need(number and 0 <= value <= 1, f"{name}: range: 0..1")
    _need(
        not {"temperature", "top_p"} <= body.keys(),
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    )
    for sequence in body.get("stop_sequences", []):
        _need(isinstance(sequence, str), "stop_sequences: Input should be a valid string")
        _need(sequence.strip(), "stop_sequences: each stop sequence must contain non-whitespace")


def _thinking(body: Json) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type")
    known = ("enabled", "disabled", "adaptive", "between_tools")
    _need(kind in known, f"thinking: Input tag '{kind}' does not match any of the expected tags")
    if kind == "enabled":
        budget = thinking.get("budget_tokens", 0)
        _need(budget >= 1024, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        _need(
            budget < body.get("max_tokens", budget + 1), "`max_tokens` must be greater than `thinking.budget_tokens`."
        )
    if kind in ("enabled", "adaptive"):
        forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
        _need(not forced, "Thinking may not be enabled when tool_choice forces tool use.")
        for name in ("temperature", "top_p"):
            _need(name not in body, f"`{name}` may only be set to 1 when thinking is enabled.")


def _output(output: Json) -> None:
    unknown = output.keys() - {"effort", "format"}
    _need(not unknown, f"output_config.{min(unknown, default='')}: Extra inputs are not permitted")
    efforts = ("low", "medium", "high", "xhigh", "max")
    effort = output.get("effort", "high")
    _need(effort in efforts, "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    if "format" in output:
        _need(output["format"].get("type") == "json_schema", "output_config.format.type: Input should be 'json_schema'")
        wrong = check_format(output["format"].get("schema"))
        _need(wrong is None, f"output_config.format.schema: {wrong}")
