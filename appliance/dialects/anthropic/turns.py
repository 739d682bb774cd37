"""The messages of a `Chat` as Anthropic's `system` and `messages`: turns that alternate, calls that are all answered.

Text stays the caller's, letter for letter; what the API takes no message with (blank text, unsigned reasoning) is left
out, and what it takes no conversation without (a first word of the user, a result for every call) is put in.
Source: dialects.md §1.2 ("To real Anthropic").
"""

import base64
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from appliance.dialects.chat import DialectError, Image, Message, Part, Text, ToolCall
from appliance.dialects.jsonobject import played_back

OPENING = "(The conversation begins with the assistant's turn.)"
"""The user's turn before a conversation that the assistant opens: the API refuses one, and blank text too."""

CANCELLED = "cancelled"
"""The result of a call that the history has none for."""

MAX_NAME = 128
"""Characters of a tool's name (`^[a-zA-Z0-9_-]{1,128}$`)."""

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")

Block = dict[str, object]


@dataclass(frozen=True, slots=True)
class Conversation:
    """`called` are the names of the tools that the history calls, each once."""

    system: list[Block]
    messages: list[Block]
    called: tuple[str, ...]


def conversation(messages: Iterable[Message]) -> Conversation:
    """Raises DialectError where there is nothing that could be answered."""
    builder = _Builder()
    for index, message in enumerate(messages):
        builder.add(index, message)
    return builder.finished()


@dataclass(slots=True)
class _Turn:
    """`results` come first, `calls` last: the API looks for both there."""

    role: Literal["user", "assistant"]
    results: list[Block] = field(default_factory=list[Block])
    blocks: list[Block] = field(default_factory=list[Block])
    calls: list[Block] = field(default_factory=list[Block])

    def written(self) -> Block:
        results = [{name: value for name, value in result.items() if value != []} for result in self.results]
        return {"role": self.role, "content": [*results, *self.blocks, *self.calls]}


@dataclass(slots=True)
class _Call:
    """A call of turn number `turn`, by the id that is sent, and what answers it."""

    id: str
    turn: int
    result: list[Block] | None = None


class _Builder:
    def __init__(self) -> None:
        self._system: list[Block] = []
        self._turns: list[_Turn] = []
        self._calls: list[_Call] = []
        self._waiting: dict[tuple[str, str], deque[_Call]] = {}  # the calls of the last turn that is the assistant's
        self._answered: dict[tuple[str, str], _Call] = {}
        self._ids = _Ids()
        self._called: dict[str, None] = {}
        self._blank: int | None = None  # the number of the last message, where nothing of it could be sent

    def add(self, index: int, message: Message) -> None:
        if message.role in ("system", "assistant") and any(isinstance(part, Image) for part in message.parts):
            param = f"messages[{index}].content"
            raise DialectError(f"`{param}` has a picture: Anthropic's models take them from users and tools.", param)
        blocks = _blocks(message.parts)
        if message.role == "system":
            self._system += blocks
            return
        self._blank = None
        if message.role == "tool" and self._answer(message, blocks):
            return
        if message.tool_calls:
            self._turn("assistant").blocks += blocks
            self._call(message.tool_calls)
        elif blocks:
            self._turn("assistant" if message.role == "assistant" else "user").blocks += blocks
        elif message.role != "assistant":
            self._blank = index

    def finished(self) -> Conversation:
        system = self._system
        if not self._turns and system:
            # An instruction alone is a call that other providers answer; here it takes a user's turn.
            self._turn("user").blocks += system
            system = []
        for call in self._calls:
            if call.result is None:
                self._result(call, [_text(CANCELLED)])["is_error"] = True
        self._check_end()
        if self._turns[0].role == "assistant":
            self._turns.insert(0, _Turn("user", blocks=[_text(OPENING)]))
        return Conversation(system, [turn.written() for turn in self._turns], tuple(self._called))

    def _turn(self, role: Literal["user", "assistant"]) -> _Turn:
        if not self._turns or self._turns[-1].role != role:
            self._turns.append(_Turn(role))
            if role == "assistant":
                self._waiting.clear()
                self._answered.clear()
        return self._turns[-1]

    def _call(self, calls: Iterable[ToolCall]) -> None:
        turn, number = self._turns[-1], len(self._turns) - 1
        for call in calls:
            made = _Call(self._ids.new(call.id), number)
            name = _FOREIGN.sub("_", call.name)[:MAX_NAME] or "tool"
            used: Block = {"type": "tool_use", "id": made.id, "name": name, "input": played_back(call.arguments)}
            turn.calls.append(used)
            self._calls.append(made)
            self._called[name] = None
            self._waiting.setdefault(_key(call.id, call.name), deque()).append(made)

    def _answer(self, message: Message, blocks: list[Block]) -> bool:
        """Whether the message answers a call of the turn before.

        A second result of the same call is added to the first. What comes later than that stays where it was said, as
        the user's words: moved up, it would leave the assistant with the last word.
        """
        key = _key(message.tool_call_id, message.tool_name)
        waiting, answered = self._waiting.get(key), self._answered.get(key)
        if waiting:
            self._answered[key] = waiting.popleft()
            result = self._result(self._answered[key], blocks)
            if message.failed:
                result["is_error"] = True
        elif answered is not None and answered.result is not None:
            answered.result += blocks
        return key in self._answered

    def _result(self, call: _Call, blocks: list[Block]) -> Block:
        """Into the turn after the call's own, which is the user's."""
        if call.turn + 1 == len(self._turns):
            self._turns.append(_Turn("user"))
        call.result = blocks
        result: Block = {"type": "tool_result", "tool_use_id": call.id, "content": blocks}
        self._turns[call.turn + 1].results.append(result)
        return result

    def _check_end(self) -> None:
        if not self._turns:
            raise DialectError("`messages` has no text: Anthropic's models need some to answer.", "messages")
        last = self._turns[-1]
        if last.role == "user":
            return
        if self._blank is not None:
            # Without it the model would not answer but go on with its own last words.
            param = f"messages[{self._blank}].content"
            raise DialectError(f"`{param}` has no text: Anthropic's models need some to answer.", param)
        last.blocks[-1] = _text(str(last.blocks[-1]["text"]).rstrip())  # they refuse to go on from whitespace


class _Ids:
    """Ids of calls as the API takes them: of its characters, and each only once in a conversation.

    They depend on nothing but the calls before, so that a conversation that goes on keeps the ids it had.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def new(self, wanted: str) -> str:
        base = _FOREIGN.sub("_", wanted) or "call"
        candidate = base
        while candidate in self._taken:
            self._counts[base] = self._counts.get(base, 1) + 1
            candidate = f"{base}_{self._counts[base]}"
        self._taken.add(candidate)
        return candidate


def _key(call_id: str, name: str) -> tuple[str, str]:
    """What a result is matched by: functions, as they were before tools, have names only."""
    return (call_id, "") if call_id else ("", name)


def _blocks(parts: Iterable[Part]) -> list[Block]:
    """Neighbouring texts as one block, so that a blank between two of them is kept; blank blocks are refused."""
    blocks: list[Block] = []
    for is_text, run in groupby(parts, key=lambda part: isinstance(part, Text)):
        if is_text:
            text = "".join(part.text for part in run if isinstance(part, Text))
            blocks += [_text(text)] if text.strip() else []
        else:
            blocks += [_image(part) for part in run if isinstance(part, Image)]
    return blocks


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _image(image: Image) -> Block:
    data = base64.b64encode(image.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}
