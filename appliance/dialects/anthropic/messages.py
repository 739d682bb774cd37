"""Reads `system` and `messages` of an Anthropic body into the turns of a `Chat`.

A user's turn that answers calls becomes one `tool` message for each result, then the rest of the turn.
Source: dialects.md §1.2 ("Blocks"); the types of PyPI `anthropic` 2.14.0.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import orjson

from appliance.dialects.anthropic.blocks import Gaps, as_text, content, kind, parts, required, texts
from appliance.dialects.chat import DialectError, Message, Part, Text, ToolCall
from appliance.dialects.fields import Fields, as_fields, wrong_type

MAX_MESSAGES = 10_000
"""More than any conversation has turns, and each costs a model some tokens: what is longer is read for nothing."""

BILLING = "x-anthropic-billing-header:"
"""How a block of `system` begins that is for Anthropic's accounts and no text: with a number that is another each
time, so that a model that read it could keep nothing of what it computed before."""

BETWEEN_BLOCKS = "\n"
"""Stands between blocks where they have to be one text: they are read apart."""

NO_INPUTS: Mapping[str, str] = MappingProxyType({})


def system(fields: Fields, gaps: Gaps) -> tuple[Message, ...]:
    """The `system` of a body as the first turn, if it says anything. Raises DialectError."""
    found = texts(fields, "system", gaps)
    said = tuple(part for part in found if not (isinstance(part, Text) and part.text.startswith(BILLING)))
    return (Message("system", said, joint=BETWEEN_BLOCKS),) if said else ()


def turns(fields: Fields, gaps: Gaps, inputs: Mapping[str, str] = NO_INPUTS) -> tuple[Message, ...]:
    """The `messages` of a body. `inputs` has the text of what tools were given, by the path of the block, where that is
    better than what was read of it. Raises DialectError."""
    messages = fields.items("messages")
    if not messages:
        raise DialectError("`messages` must be a list with at least one message.", "messages")
    if len(messages) > MAX_MESSAGES:
        raise DialectError(f"`messages` has more than {MAX_MESSAGES} entries.", "messages")
    names: dict[str, str] = {}
    out: list[Message] = []
    for i, each in enumerate(messages):
        message = as_fields(each, f"messages[{i}]")
        match message.text("role"):
            case "user":
                out += _user(message, names, gaps)
            case "assistant":
                out.append(_assistant(message, names, gaps, inputs))
            case "system":
                out.append(Message("system", texts(message, "content", gaps), joint=BETWEEN_BLOCKS))
            case _:
                raise wrong_type(message.param("role"), "one of user, assistant and system")
    return tuple(out)


def _user(message: Fields, names: dict[str, str], gaps: Gaps) -> Iterator[Message]:
    """`names` has the tool's name for the id of every call so far; the last one wins."""
    found = content(message, "content")
    if not isinstance(found, list):
        yield Message("user", (Text(found),) if found else (), joint=BETWEEN_BLOCKS)
        return
    rest: list[Part] = []
    results = 0
    for block in found:
        if kind(block) == "tool_result":
            results += 1
            yield _result(block, names, gaps)
        else:
            rest += parts(block, gaps)
    if rest or not results:
        yield Message("user", tuple(rest), joint=BETWEEN_BLOCKS)


def _result(block: Fields, names: dict[str, str], gaps: Gaps) -> Message:
    call_id = required(block, "tool_use_id")
    return Message(
        "tool",
        texts(block, "content", gaps),
        tool_call_id=call_id,
        tool_name=names.get(call_id, ""),
        failed=block.flag("is_error"),
        joint=BETWEEN_BLOCKS,
    )


def _assistant(message: Fields, names: dict[str, str], gaps: Gaps, inputs: Mapping[str, str]) -> Message:
    """What the model thought is kept where it can be read; what is encrypted is for its provider alone."""
    found = content(message, "content")
    if not isinstance(found, list):
        return Message("assistant", (Text(found),) if found else ())
    said: list[Part] = []
    calls: list[ToolCall] = []
    thoughts: list[str] = []
    for block in found:
        match kind(block):
            case "text":
                said.append(Text(required(block, "text")))
            case "thinking":
                thoughts.append(required(block, "thinking"))
            case "redacted_thinking":
                pass
            case "tool_use":
                calls.append(_call(block, inputs.get(block.path)))
            case other if other == "server_tool_use" or other.endswith("_tool_result"):
                said.append(as_text(block))
            case other:
                gaps.note(block.path, f"a block of the type {other[:40]!r}")
    names.update((call.id, call.name) for call in calls)
    return Message("assistant", tuple(said), tool_calls=tuple(calls), reasoning="".join(thoughts))


def _call(block: Fields, written: str | None) -> ToolCall:
    given = block.nested("input")
    arguments = "{}" if given is None else written or orjson.dumps(given.values).decode()
    return ToolCall(required(block, "id"), required(block, "name"), arguments)
