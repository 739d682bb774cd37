"""Gives every tool call of a history an id, and every result the id of the call that it answers.

Providers pair calls and results by these ids, but a history may have come from a dialect that has none (`functions`).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from appliance.dialects.chat import DialectError, Message

MAX_QUOTED = 80
"""Characters of an id, or of a name, in a sentence."""


def with_ids(messages: Iterable[Message], spelled: Callable[[str], str] = str) -> tuple[Message, ...]:
    """The same messages; `spelled` writes an id as the provider wants it, the same one always in the same way.

    A call without an id gets one from its place. A result without one is that of the first call of its name that has
    none yet, else of the first such call.
    """
    waiting: list[tuple[str, str]] = []  # ids and names of calls without a result
    out: list[Message] = []
    for i, message in enumerate(messages):
        calls = tuple(
            replace(call, id=spelled(call.id or f"call_{i}_{j}")) for j, call in enumerate(message.tool_calls)
        )
        waiting += [(call.id, call.name) for call in calls]
        answered = message.tool_call_id
        if message.role == "tool":
            answered = spelled(answered) if answered else _answered(waiting, message.tool_name)
            waiting = [one for one in waiting if one[0] != answered]
        out.append(replace(message, tool_calls=calls, tool_call_id=answered))
    return tuple(out)


_END = Message("user")


def check_answered(messages: Iterable[Message]) -> None:
    """Raises DialectError naming the first call whose result is not in the messages right behind it, for providers that
    take no other conversation."""
    waiting: dict[str, str] = {}  # names by ids
    for message in (*with_ids(messages), _END):
        if message.role == "tool":
            waiting.pop(message.tool_call_id, None)
            continue
        if waiting:
            call_id, name = next(iter(waiting.items()))
            call = f"the call {call_id[:MAX_QUOTED]!r} of {name[:MAX_QUOTED]!r}"
            raise DialectError(
                f"`messages` has no result for {call} right behind it, and the provider needs one for every call.",
                "messages",
            )
        waiting = {call.id: call.name for call in message.tool_calls}


def _answered(waiting: list[tuple[str, str]], name: str) -> str:
    named = [call_id for call_id, called in waiting if called == name]
    return (named or [call_id for call_id, _ in waiting] or [""])[0]
