"""A call of this dialect on its way to a provider of it: the caller's own body, as it came.

Must not know connections or keys. Source: architecture.md, rule 1; dialects.md §1.2; gateway.md ("Sensitive data that
is not text").
"""

import re
from collections.abc import Callable, Mapping
from typing import cast

import orjson

from appliance.dialects.anthropic.body import PATH, VERSION
from appliance.dialects.anthropic.refusals import refusal
from appliance.dialects.anthropic.stream import Reader
from appliance.dialects.anthropic.structure import is_signed
from appliance.dialects.end_users import EndUser, metadata
from appliance.dialects.jsonlists import elements, joined
from appliance.dialects.jsonmembers import member, with_members
from appliance.dialects.upstream import Outgoing

_VERSION = re.compile(r"20\d\d-[01]\d-[0-3]\d")

_BETAS = (
    "advanced-tool-use", "cache-diagnosis", "claude-code", "context-1m", "context-management", "dynamic-filtering",
    "effort", "extended-cache-ttl", "fast-mode", "fine-grained-tool-streaming", "inline-tools",
    "interleaved-thinking", "max-tokens-3-5-sonnet", "mid-conversation-output-config", "mid-conversation-system",
    "mid-conversation-system-clear-at", "mid-conversation-tool-changes", "model-context-window-exceeded",
    "output-128k", "pdfs", "prompt-caching", "prompt-caching-scope", "redact-thinking", "search-results",
    "structured-outputs", "task-budgets", "thinking-binding-controls", "thinking-display-updates",
    "thinking-token-count", "token-counting", "token-efficient-tools", "tool-examples", "tool-search-tool",
)  # fmt: skip
_BETA = re.compile(rf"(?:{'|'.join(map(re.escape, _BETAS))})-20\d\d(-?)[01]\d\1[0-3]\d")
"""What of `anthropic-beta` is handed on: what changes a body or an answer. Not what names an account, reaches files, or
lets the provider call others."""

_MAY_THINK = re.compile(r'"thinking"|\\u00[67]')
"""The name of a thought, or what may be one of its letters escaped."""


def headers(given: Mapping[str, str]) -> dict[str, str]:
    """What goes on of the request's headers, which say how its body has to be read."""
    version = given.get("anthropic-version", "")
    betas = [name for name in re.split(r"[\s,]+", given.get("anthropic-beta", "")) if _BETA.fullmatch(name)]
    kept = {"anthropic-version": version if _VERSION.fullmatch(version) else VERSION}
    return kept | {"anthropic-beta": ",".join(betas)} if betas else kept


def forwarded(
    body: str,
    *,
    model: str,
    given: Mapping[str, str],
    end_user: EndUser,
    is_foreign: Callable[[str, str], bool],
    new_id: Callable[[], str],
) -> Outgoing:
    """The caller's own Messages body, a valid JSON object, with no byte changed but these: `model`, `stream`, the name
    of the end user, replaced by what `end_user` makes of it, and thoughts that the provider has not signed, which it
    takes no call with.

    A signed thought goes too if `is_foreign` is true of it and its signature: it did not come from this provider.
    `given` are the request's headers, `new_id` makes the ids of tool calls.
    """
    fields = cast("dict[str, object]", orjson.loads(body))
    members: dict[str, object] = {"model": model, "stream": True, **metadata(body, fields, end_user)}
    messages = member(body, "messages") if _MAY_THINK.search(body) else None
    if messages is not None:
        members["messages"] = orjson.Fragment(_without_thoughts(messages, is_foreign))
    content = with_members(body, members).encode()
    return Outgoing(PATH, headers(given), content, lambda: Reader(new_id, own=True), refusal)


def _without_thoughts(messages: str, is_foreign: Callable[[str, str], bool]) -> str:
    """The list of messages without thoughts that nobody has signed, and without a turn that had nothing else."""
    out: list[str] = []
    changed = False
    for message in elements(messages):
        content = member(message, "content") if _MAY_THINK.search(message) else None
        if content is None or not content.startswith("["):
            out.append(message)
            continue
        blocks = elements(content)
        kept = [block for block in blocks if not _goes(block, is_foreign)]
        if len(kept) == len(blocks):
            out.append(message)
            continue
        changed = True
        if kept:
            out.append(with_members(message, {"content": orjson.Fragment(joined(kept))}))
    return joined(out) if changed else messages


def _goes(block: str, is_foreign: Callable[[str, str], bool]) -> bool:
    value: object = orjson.loads(block)
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, object]", value)
    if fields.get("type") != "thinking":
        return False
    thought = fields.get("thinking")
    return not is_signed(fields) or (isinstance(thought, str) and is_foreign(thought, str(fields.get("signature"))))
