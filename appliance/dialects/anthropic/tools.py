"""What a call offers the model to use and how it must answer: `tools`, `tool_choice` and the form of the answer.

JSON that `output_config.format` cannot say is asked for as the input of one more tool, which the model has to use; the
reader makes text of it again. Source: dialects.md §1.1 and §1.2; the types of PyPI `anthropic` 2.14.0.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from appliance.dialects.anthropic.formats import can_say
from appliance.dialects.chat import Chat, DialectError, Format, Tool
from appliance.dialects.schemas import Schema

ANSWER_TOOL = "json_answer"

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Of the names of properties, in the outermost schema of a tool's input."""

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Offer:
    """`fields` are members of the body. `answer_tool` is the tool whose input is the answer, "" if it is text.

    `forced`: the model has to use a tool, and cannot think before.
    """

    fields: Json = field(default_factory=dict[str, object])
    format: Json | None = None
    answer_tool: str = ""
    forced: bool = False


def offer(chat: Chat, called: Iterable[str]) -> Offer:
    """`called` are the names of the tools that the conversation used. Raises DialectError naming the parameter."""
    demanded = bool(chat.tools) and chat.tool_choice.mode in ("required", "named")
    wanted = None if demanded else chat.format
    if wanted is not None and (wanted.schema is None or not can_say(wanted.schema)):
        return _as_tool(chat, wanted)
    return Offer(
        _tools(chat, called),
        {"type": "json_schema", "schema": wanted.schema} if wanted else None,
        forced=demanded,
    )


def _tools(chat: Chat, called: Iterable[str]) -> Json:
    if chat.tools:
        choice = _choice(chat)
        more: Json = {} if choice is None else {"tool_choice": choice}
        return {"tools": definitions(chat.tools), **more}
    # A conversation that used tools may be refused where it defines none.
    used = [{"name": name, "input_schema": {"type": "object"}} for name in called]
    return {"tools": used, "tool_choice": {"type": "none"}} if used else {}


def _choice(chat: Chat) -> Json | None:
    mode = chat.tool_choice.mode
    if mode == "none":
        return {"type": "none"}
    once: Json = {} if chat.parallel else {"disable_parallel_tool_use": True}
    if mode == "named":
        return {"type": "tool", "name": chat.tool_choice.name, **once}
    if mode == "required":
        return {"type": "any", **once}
    return {"type": "auto", **once} if once else None


def _as_tool(chat: Chat, wanted: Format) -> Offer:
    """The answer as a tool's input: beside the caller's own tools if the model may use those, else alone."""
    others = () if chat.tool_choice.mode == "none" else chat.tools
    name = ANSWER_TOOL
    while any(tool.name == name for tool in others):
        name += "_"
    schema = _input_schema(wanted.schema or {}, "`response_format`: the schema", "response_format")
    tools = [*definitions(others), {"name": name, "description": "Answers in JSON.", "input_schema": schema}]
    choice: Json = {"type": "any"} if others else {"type": "tool", "name": name}
    if not others or not chat.parallel:
        choice["disable_parallel_tool_use"] = True
    return Offer({"tools": tools, "tool_choice": choice}, answer_tool=name, forced=True)


def definitions(tools: Iterable[Tool]) -> list[Json]:
    """The `tools` of a body. Raises DialectError naming the tool that the API would refuse."""
    written: dict[str, Json] = {}
    for tool in tools:
        if not _NAME.fullmatch(tool.name):
            raise DialectError(
                f"`tools`: the name {tool.name[:40]!r} must have up to 128 letters, digits, `_` and `-`, and no other "
                "characters, for Anthropic's models.",
                "tools",
            )
        if tool.name in written:
            raise DialectError(f"`tools`: there are two tools of the name {tool.name!r}.", "tools")
        described = {"description": tool.description} if tool.description else {}
        schema = _input_schema(tool.parameters or {}, f"`tools`: the schema of the tool {tool.name!r}", "tools")
        written[tool.name] = {"name": tool.name, **described, "input_schema": schema}
    return list(written.values())


def _input_schema(schema: Schema, what: str, param: str) -> Schema:
    """A schema whose outermost type is said to be an object. `what` is the beginning of the sentence of a refusal."""
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise DialectError(f"{what} must be that of an object, for Anthropic's models.", param)
    combined = next((name for name in ("oneOf", "anyOf", "allOf") if name in schema), None)
    if combined:
        raise DialectError(
            f"{what} has `{combined}` at its outermost level, which Anthropic's models do not read: put it into a "
            "property.",
            param,
        )
    properties = schema.get("properties")
    named = [*cast("dict[str, object]", properties)] if isinstance(properties, dict) else []
    wrong = next((name for name in named if not _PROPERTY.fullmatch(name)), None)
    if wrong is not None:
        raise DialectError(
            f"{what} has the property {wrong[:40]!r}: Anthropic's models take up to 64 letters, digits, `_`, `.` and "
            "`-`.",
            param,
        )
    return {**schema, "type": "object"} if "type" in schema else {"type": "object", **schema}
