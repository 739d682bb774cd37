"""Calls of tools in the text of a model that writes them as `<tool_call>{"name": …, "arguments": …}</tool_call>`.

Pure. `call_grammar` keeps a call well-formed from its first letter on, `CallReader` finds the calls in the pieces of
an answer. What began like a call and is none, because the answer was cut off in it, is given out as text: Ollama's
newer parsers end such an answer with an error, after which a caller has neither the text nor the reason of the end,
and the gateway would try again what would end the same way.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import cast

import orjson

from appliance.engine.gbnf import COMPACT_SPACE, Grammar, Rules, TooLarge, json_literal, literal
from appliance.engine.json_values import is_too_deep
from appliance.engine.llama import End, Event, Piece, TokenChance
from appliance.engine.object_end import ObjectEnd
from appliance.engine.schemas import SchemaWriter
from appliance.engine.tools import Tool, ToolCall

OPENING = "<tool_call>"
CLOSING = "</tool_call>"

_BARE_STARTS = ('{"name":', '{"arguments":', '{"parameters":')
"""How a call begins, without blanks, where a schema gave it its form and not the template."""


def call_grammar(tools: Sequence[Tool]) -> Grammar | None:
    """Holds an answer that writes `OPENING` to calls of these tools with arguments of their schemas.

    What a schema asks beyond grammar is not enforced, since tools come with schemas of all kinds: where it would make
    too large a grammar, the arguments are any object. `None` if the tools' names alone would.
    """
    rules = Rules(COMPACT_SPACE)
    try:
        written = [_one_call(rules, tool) for tool in tools]
        call = rules.add("call", " | ".join(written), len(written))
        rest = rules.add("rest", f'[ \\n]{{0,2}} {call} "\\n"? {literal(CLOSING)}')
        # A token can hold the end of the opening and what begins no call: that is text, and goes on as text.
        text = rules.add("text", r"[^ \n{] [^\x00]*")
    except TooLarge:
        return None
    opening = literal(OPENING)
    return rules.grammar(f'{opening} ({rest} ("\\n"? {opening} {rest})* | {text})', trigger=OPENING)


def _one_call(rules: Rules, tool: Tool) -> str:
    mark = rules.mark()
    try:
        arguments = SchemaWriter(rules, tool.parameters, lenient=True).write(tool.parameters)
    except TooLarge:
        rules.take_back(mark)
        arguments = "object"
    if arguments == "value":
        arguments = "object"
    return rules.add("one", f'"{{\\"name\\": " {json_literal(tool.name)} ", \\"arguments\\": " {arguments} "}}"')


class CallReader:
    """Takes an answer piece by piece; what may be the beginning of a call is held back until it is clear.

    `bare` is for an answer that a schema holds to JSON: a call is then the whole answer, without `OPENING`.
    """

    def __init__(self, tools: Sequence[Tool], new_id: Callable[[], str], *, bare: bool) -> None:
        self._names = {tool.name for tool in tools}
        self._new_id = new_id
        self._bare = bare
        self._in_call = False
        self._opening = ""
        """What was read of a call before its body: blanks, and `OPENING`."""
        self._end = ObjectEnd()
        self._body = 0
        """How long the body of a call is, once it is there as a whole."""
        self._held = ""
        self._chances: list[TokenChance] = []
        self._count = 0

    def feed(self, piece: Piece) -> list[Piece | ToolCall]:
        """What is clear after one more piece. Log probabilities are never held back."""
        self._held += piece.text
        self._chances += piece.chances
        found: list[Piece | ToolCall] = []
        if self._bare:
            if not self._may_be_bare():
                self._bare = False
                self._say(found, self._take(len(self._held)))
        else:
            while self._step(found):
                pass
        self._say(found, "")
        return found

    def finish(self) -> list[Piece | ToolCall]:
        """What is left at the end of the answer: a call that was not closed, or text."""
        found: list[Piece | ToolCall] = []
        held = self._take(len(self._held))
        body = held[: self._body] if self._in_call and self._body else held
        call = self._call(body) if self._in_call or self._bare else None
        if call is not None:
            found.append(call)
        elif self._in_call:
            self._say(found, self._opening + held)
        elif held.strip() or not self._count:
            self._say(found, held)
        return found

    def _step(self, found: list[Piece | ToolCall]) -> bool:
        """Goes on to the next edge of a call. Returns whether there may be another one."""
        if not self._in_call:
            start = self._held.find(OPENING)
            if start < 0:
                self._say(found, self._take(_clear_until(self._held)))
                return False
            text = len(self._held[:start].rstrip())
            self._say(found, self._take(text))
            self._opening = self._take(start - text + len(OPENING))
            self._in_call = True
            self._end = ObjectEnd()
            self._body = 0
        if not self._body:
            end = self._end.find(self._held)
            if end is None:
                return False
            if end == "never":  # what follows the opening is no call
                return self._leave(found, self._opening)
            self._body = end
        rest = self._held[self._body :].lstrip()
        if rest.startswith(CLOSING):
            return self._close(found, len(self._held) - len(rest) + len(CLOSING))
        if CLOSING.startswith(rest):
            return False
        return self._leave(found, self._opening + self._take(self._body))

    def _close(self, found: list[Piece | ToolCall], length: int) -> bool:
        written = self._take(length)
        call = self._call(written[: self._body])
        if call is None:
            return self._leave(found, self._opening + written)
        self._in_call = False
        self._say(found, "")
        found.append(call)
        return True

    def _leave(self, found: list[Piece | ToolCall], text: str) -> bool:
        """What began like a call is text. What follows may hold another call."""
        self._in_call = False
        self._say(found, text)
        return True

    def _take(self, length: int) -> str:
        taken, self._held = self._held[:length], self._held[length:]
        return taken

    def _say(self, found: list[Piece | ToolCall], text: str) -> None:
        if text or self._chances:
            found.append(Piece(text, tuple(self._chances)))
            self._chances.clear()

    def _may_be_bare(self) -> bool:
        written = "".join(self._held.split())
        return any(written[: len(start)] == start[: len(written)] for start in _BARE_STARTS)

    def _call(self, text: str) -> ToolCall | None:
        try:
            value = cast("object", orjson.loads(text))
        except orjson.JSONDecodeError:
            return None
        if not isinstance(value, dict) or is_too_deep(cast("object", value)):
            return None
        fields = cast("dict[str, object]", value)
        name = fields.get("name")
        arguments = fields.get("arguments", fields.get("parameters"))
        if name not in self._names or not isinstance(arguments, dict):
            return None
        self._count += 1
        return ToolCall(str(name), cast("dict[str, object]", arguments), self._new_id(), self._count - 1)


async def read_calls(events: AsyncGenerator[Event], reader: CallReader) -> AsyncGenerator[Event]:
    """The same answer with its calls apart. Closing it closes `events`."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Piece):
                for each in reader.feed(event):
                    yield each
            elif isinstance(event, End):
                for each in [*reader.feed(Piece(event.text)), *reader.finish()]:
                    yield each
                yield event.without_text()
            else:
                yield event


def _clear_until(text: str) -> int:
    """How much of `text` cannot belong to a call that begins at its end; blanks before a call belong to it."""
    length = next(size for size in range(len(OPENING) - 1, -1, -1) if text.endswith(OPENING[:size]))
    return len(text[: len(text) - length].rstrip())
