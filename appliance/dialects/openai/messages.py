"""Reads the `messages` of an OpenAI body: roles, parts, pictures, and the tool calls and results of earlier turns.

A history is played back by clients as they kept it: what is broken in it is kept as it is, and only what has no
meaning at all is refused. Source: dialects.md §1.1 ("Messages").
"""

from typing import cast

import orjson

from appliance.dialects.chat import DialectError, Image, Message, Part, Role, Text, ToolCall
from appliance.dialects.fields import Fields, as_fields, wrong_type
from appliance.dialects.images import from_data_url

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""`function` is how results were called before there were tools."""

_WITH_PICTURES: tuple[Role, ...] = ("user", "tool")
_WITHOUT_CONTENT: tuple[Role, ...] = ("assistant", "tool")

MAX_MESSAGES = 10_000
"""More than any conversation has turns, and each costs a model some tokens: what is longer is read for nothing."""


def parse(fields: Fields) -> tuple[Message, ...]:
    """The messages of a body, of which there is at least one. Raises DialectError."""
    messages = fields.items("messages")
    if not messages:
        raise DialectError(_why_none(fields), "messages")
    if len(messages) > MAX_MESSAGES:
        raise DialectError(f"`messages` has more than {MAX_MESSAGES} entries.", "messages")
    names: dict[str, str] = {}
    return tuple(_message(as_fields(message, f"messages[{i}]"), names) for i, message in enumerate(messages))


def _why_none(fields: Fields) -> str:
    if fields.get("input") is not None:
        return (
            "The body has `input` and no `messages`: it is one of the Responses API. Set the client to the Chat "
            "Completions API, or send the conversation as `messages`."
        )
    return "`messages` must be a list with at least one message."


def _message(fields: Fields, names: dict[str, str]) -> Message:
    """One message. `names` has the tool's name for the id of every call so far; the last one wins."""
    role = _ROLES.get(fields.text("role") or "")
    if role is None:
        raise wrong_type(fields.param("role"), "one of system, developer, user, assistant and tool")
    parts = _content(fields, role)
    if role == "assistant":
        return _assistant(fields, parts, names)
    if role == "tool":
        call_id = fields.text("tool_call_id") or ""
        return Message(role, parts, tool_call_id=call_id, tool_name=names.get(call_id) or fields.text("name") or "")
    return Message(role, parts)


def _assistant(fields: Fields, parts: tuple[Part, ...], names: dict[str, str]) -> Message:
    if fields.get("audio") is not None:
        param = fields.param("audio")
        raise DialectError(f"`{param}` has a value that this gateway does not support.", param)
    # A turn that declined says so here instead of in `content`.
    refusal = fields.text("refusal")
    calls = _tool_calls(fields)
    names.update((call.id, call.name) for call in calls if call.id)
    return Message(
        "assistant",
        (*parts, Text(refusal)) if refusal else parts,
        tool_calls=calls,
        reasoning=fields.text("reasoning_content") or fields.text("reasoning") or "",
    )


def _content(fields: Fields, role: Role) -> tuple[Part, ...]:
    content = fields.get("content")
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if content is None and (role in _WITHOUT_CONTENT or "content" in fields.values):
        return ()  # how clients play back a turn that was only calls, and one that said nothing
    if isinstance(content, list):
        parts = cast("list[object]", content)
        if role != "tool" or all(_is_part(part) for part in parts):
            path = fields.param("content")
            return tuple(_either(part, f"{path}[{j}]", role) for j, part in enumerate(parts))
    if role != "tool":
        raise wrong_type(fields.param("content"), "a string or a list of parts")
    return (Text(orjson.dumps(content).decode()),)  # what a tool gave, played back as it came


def _is_part(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and "type" in value)


def _either(part: object, path: str, role: Role) -> Part:
    return Text(part) if isinstance(part, str) else _part(as_fields(part, path), role)


def _part(fields: Fields, role: Role) -> Part:
    kind = fields.text("type")
    if kind is None:
        raise wrong_type(fields.param("type"), "a string")
    if kind == "text" or (kind == "refusal" and role == "assistant"):
        return Text(_required(fields, kind))
    if kind == "image_url" and role in _WITH_PICTURES:
        return _image(fields)
    raise DialectError(f"`{fields.path}` is a part of a type that is not supported here: {kind[:40]!r}.", fields.path)


def _image(fields: Fields) -> Image:
    """In object form, or the URL alone, as some clients write it."""
    if isinstance(fields.get("image_url"), str):
        return from_data_url(_required(fields, "image_url"), fields.param("image_url"))
    inner = as_fields(fields.get("image_url"), fields.param("image_url"))
    return from_data_url(_required(inner, "url"), inner.param("url"))


def _tool_calls(fields: Fields) -> tuple[ToolCall, ...]:
    path = fields.param("tool_calls")
    calls = [_tool_call(as_fields(call, f"{path}[{i}]")) for i, call in enumerate(fields.items("tool_calls") or ())]
    older = fields.nested("function_call")
    return tuple(calls) if older is None else (*calls, _called(older, ""))


def _tool_call(fields: Fields) -> ToolCall:
    if fields.text("type") not in (None, "function"):
        raise DialectError(f"`{fields.param('type')}` must be `function`.", fields.param("type"))
    function = fields.nested("function") or Fields({}, fields.param("function"))
    return _called(function, fields.text("id") or "")


def _called(function: Fields, call_id: str) -> ToolCall:
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        # Some clients play them back as an object, some leave them out.
        arguments = "" if arguments is None else orjson.dumps(arguments).decode()
    return ToolCall(call_id, function.text("name") or "", arguments)


def _required(fields: Fields, name: str) -> str:
    text = fields.text(name)
    if text is None:
        raise wrong_type(fields.param(name), "a string")
    return text
