"""Reads what an OpenAI body says about tools: `tools`, `tool_choice`, and `functions`, as they were called before.

Source: dialects.md §1.1 and §1.3.
"""

from dataclasses import dataclass
from typing import cast

from appliance.dialects.chat import DialectError, Tool, ToolChoice
from appliance.dialects.fields import Fields, as_fields, wrong_type

_MODES: dict[str, ToolChoice] = {
    "auto": ToolChoice(),
    "none": ToolChoice("none"),
    "required": ToolChoice("required"),
}


@dataclass(frozen=True, slots=True)
class Tooling:
    """`parallel` is whether one answer may call several; `legacy` whether the caller knows `function_call` only."""

    tools: tuple[Tool, ...]
    choice: ToolChoice
    parallel: bool
    legacy: bool


def parse(fields: Fields) -> Tooling:
    """Raises DialectError, for a choice too that none of the tools can meet."""
    tools, functions = fields.items("tools") or [], fields.items("functions") or []
    if tools and functions:
        raise DialectError("`functions` is the older word for `tools`: send one of them.", "functions")
    read = [_tool(as_fields(one, f"tools[{i}]")) for i, one in enumerate(tools)]
    for i, one in enumerate(functions):
        older = as_fields(one, f"functions[{i}]")
        read.append(_function(older, older))
    name = "function_call" if fields.get("tool_choice") is None else "tool_choice"
    choice = _choice(fields, name)
    _check_choice(choice, read, name)
    # One call is all that `function_call` can hold.
    several = not functions and (fields.get("parallel_tool_calls") is None or fields.flag("parallel_tool_calls"))
    return Tooling(tuple(read), choice, several, bool(functions))


def _tool(fields: Fields) -> Tool:
    if fields.text("type") != "function":
        param = fields.param("type")
        raise DialectError(f"`{param}` must be `function`: no other kind of tool is supported here.", param)
    return _function(as_fields(fields.get("function"), fields.param("function")), fields)


def _function(fields: Fields, written: Fields) -> Tool:
    name = fields.text("name")
    if not name:
        raise wrong_type(fields.param("name"), "a string that is not empty")
    parameters = fields.nested("parameters")
    return Tool(
        name, fields.text("description"), None if parameters is None else parameters.values, written=written.values
    )


def _choice(fields: Fields, name: str) -> ToolChoice:
    value = fields.get(name)
    if value is None:
        return ToolChoice()
    if isinstance(value, str) and value in _MODES and (name, value) != ("function_call", "required"):
        return _MODES[value]
    if not isinstance(value, dict):
        raise wrong_type(fields.param(name), "one of none, auto and required, or name a function")
    named = Fields(cast("dict[str, object]", value), fields.param(name))
    if name == "tool_choice":
        if named.text("type") != "function":
            raise DialectError(
                f"`{name}` has a type that is not supported here: name a function, or send fewer tools.", name
            )
        named = as_fields(named.get("function"), named.param("function"))
    function = named.text("name")
    if not function:
        raise wrong_type(named.param("name"), "a string that is not empty")
    return ToolChoice("named", function)


def _check_choice(choice: ToolChoice, tools: list[Tool], param: str) -> None:
    if choice.mode == "required" and not tools:
        raise DialectError(f"`{param}` requires a call, but there are no tools to call.", param)
    if choice.mode == "named" and all(tool.name != choice.name for tool in tools):
        raise DialectError(f"`{param}` names a function that is not among the tools.", param)
