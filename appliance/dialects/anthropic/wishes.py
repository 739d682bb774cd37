"""Reads what an Anthropic body wants of its answer: tools and their choice, its form, its sampling, how long to think.

Source: dialects.md §1.2; the types of PyPI `anthropic` 2.14.0.
"""

from dataclasses import dataclass

from appliance.dialects.anthropic.blocks import Gaps, required
from appliance.dialects.chat import DialectError, Effort, Format, Sampling, Tool, ToolChoice
from appliance.dialects.fields import Fields, as_fields, wrong_type
from appliance.dialects.schema_checks import schema_error

MAX_INT = 2**63 - 1
"""Ollama reads integer options into Go's `int`."""

_EFFORTS: dict[str, Effort] = {"low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}

_BUDGETS: tuple[tuple[int, Effort], ...] = ((4_096, "low"), (16_384, "medium"))
"""Up to how many tokens of thought an effort is, which is how models are told that count none; above them it is high.
"""

_CHOICES = "one of auto, any, tool and none"


@dataclass(frozen=True, slots=True)
class Tooling:
    """`parallel` is whether one answer may call several."""

    tools: tuple[Tool, ...]
    choice: ToolChoice
    parallel: bool


def tooling(fields: Fields, gaps: Gaps) -> Tooling:
    """Raises DialectError, for a choice too that none of the tools can meet."""
    tools = tuple(_tool(as_fields(one, f"tools[{i}]"), gaps) for i, one in enumerate(fields.items("tools") or ()))
    wanted = fields.nested("tool_choice")
    if wanted is None:
        return Tooling(tools, ToolChoice(), True)
    choice = _choice(wanted)
    if choice.mode == "required" and not tools:
        raise DialectError("`tool_choice` requires a call, but there are no tools to call.", "tool_choice")
    if choice.mode == "named" and all(tool.name != choice.name for tool in tools):
        raise DialectError("`tool_choice` names a tool that is not among the tools.", "tool_choice")
    return Tooling(tools, choice, not wanted.flag("disable_parallel_tool_use"))


def _tool(fields: Fields, gaps: Gaps) -> Tool:
    kind = fields.text("type") or "custom"
    if kind != "custom":
        gaps.note(fields.path, f"the tool of the type {kind[:40]!r}")
    name = fields.text("name") or ""
    if not name and kind == "custom":
        raise wrong_type(fields.param("name"), "a string that is not empty")
    schema = fields.nested("input_schema")
    if schema is None and kind == "custom":
        raise wrong_type(fields.param("input_schema"), "an object")
    parameters = None if schema is None else schema.values
    return Tool(name, fields.text("description"), parameters, written=fields.values)


def _choice(fields: Fields) -> ToolChoice:
    match fields.text("type"):
        case "auto":
            return ToolChoice()
        case "any":
            return ToolChoice("required")
        case "none":
            return ToolChoice("none")
        case "tool":
            return ToolChoice("named", required(fields, "name"))
        case _:
            raise wrong_type(fields.param("type"), _CHOICES)


def answer_format(fields: Fields) -> Format | None:
    """The form of a structured answer; None for plain text. `output_format` is where it stood before."""
    output = fields.nested("output_config")
    wanted = (output.nested("format") if output is not None else None) or fields.nested("output_format")
    if wanted is None:
        return None
    if wanted.text("type") != "json_schema":
        raise wrong_type(wanted.param("type"), "json_schema")
    schema = as_fields(wanted.get("schema"), wanted.param("schema"))
    wrong = schema_error(schema.values)
    if wrong:
        raise DialectError(f"`{schema.path}` {wrong}.", schema.path)
    return Format(schema.values)


def effort(fields: Fields) -> Effort | None:
    """How long the model shall think; None where the call says nothing of thinking."""
    output = fields.nested("output_config")
    said = output.text("effort") if output is not None else None
    if output is not None and said is not None and said not in _EFFORTS:
        raise wrong_type(output.param("effort"), f"one of {', '.join(_EFFORTS)}")
    thinking = fields.nested("thinking")
    if thinking is None:
        return None
    match thinking.text("type"):
        case "disabled":
            return "none"
        case "enabled" | "adaptive" | "between_tools":
            return _EFFORTS[said] if said is not None else _budget(thinking)
        case _:
            raise wrong_type(thinking.param("type"), "one of enabled, adaptive, between_tools and disabled")


def _budget(thinking: Fields) -> Effort:
    tokens = thinking.integer("budget_tokens", 1, MAX_INT)
    if tokens is None:
        return "medium"
    for limit, known in _BUDGETS:
        if tokens <= limit:
            return known
    return "high"


def sampling(fields: Fields) -> Sampling:
    """How to sample the answer. `max_tokens` is left out here where the body leaves it out."""
    sequences = fields.items("stop_sequences") or []
    stop = [one for one in sequences if isinstance(one, str)]
    if len(stop) != len(sequences):
        raise wrong_type(fields.param("stop_sequences"), "a list of strings")
    return Sampling(
        temperature=fields.number("temperature", 0, 1),
        top_p=fields.number("top_p", 0, 1),
        top_k=fields.integer("top_k", 0, MAX_INT),
        # An empty sequence stops nothing, but some servers would find it everywhere.
        stop=tuple(text for text in stop if text),
        max_tokens=fields.integer("max_tokens", 1, MAX_INT),
    )


def refuse_servers(fields: Fields) -> None:
    """Raises DialectError for servers that the provider itself would call: what they are told nobody here sees, and
    their keys would leave."""
    if fields.items("mcp_servers"):
        param = fields.param("mcp_servers")
        raise DialectError(f"`{param}`: no servers are called for tools: let the client call them.", param)
