"""Puts the values of a call back into the events that answer it, as they come.

Text and reasoning of each choice are streams of their own, in which a token may be split anywhere; a tool call is
whole. Must not know where the tokens come from. Source: shield.md ("Restoring").
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace

from appliance.dialects.chat import (
    BlockEnd,
    Event,
    Finish,
    OwnBlock,
    OwnDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from appliance.shield.restore import restore
from appliance.shield.streams import Restorer
from appliance.shield.vault import Vault


async def restored(
    events: AsyncGenerator[Event, None], vault: Vault, *, depth: int = 0, thoughts: bool = True
) -> AsyncGenerator[Event, None]:
    """The same answer with values in place of this call's tokens. Closing it closes `events`.

    `depth` is 1 where the answer's text is JSON, else 0. `thoughts`: whether the model's thoughts are restored too;
    those that it signs must not be changed.
    """
    restoring = _Restoring(vault, depth, thoughts=thoughts)
    async with aclosing(events):
        async for event in events:
            for each in restoring.feed(event):
                yield each


class _Restoring:
    def __init__(self, vault: Vault, depth: int, *, thoughts: bool) -> None:
        self._vault = vault
        self._depth = depth
        self._keeps_thoughts = not thoughts
        self._texts: dict[int, Restorer] = {}
        self._thoughts: dict[int, Restorer] = {}

    def feed(self, event: Event) -> Iterator[Event]:
        match event:
            case TextDelta():
                yield from self._ended_thought(event.choice)
                if event.choice not in self._texts:
                    self._texts[event.choice] = Restorer(self._vault, self._depth)
                text = self._texts[event.choice].feed(event.text)
                if text or event.chances:
                    yield replace(event, text=text)
            case ReasoningDelta():
                yield from self._ended_text(event.choice)
                if self._keeps_thoughts:
                    yield event
                    return
                text = self._thoughts.setdefault(event.choice, Restorer(self._vault)).feed(event.text)
                if text:
                    yield replace(event, text=text)
            case ToolCallDelta():
                yield from self._ended(event.choice)
                arguments = restore(event.arguments, self._vault, depth=1)
                own = restore(event.own, self._vault, depth=1)
                yield replace(event, name=restore(event.name, self._vault), arguments=arguments, own=own)
            case OwnBlock() | OwnDelta():
                yield from self._ended(event.choice)
                yield self._own(event)
            case BlockEnd():
                yield from self._ended(event.choice)
                yield event
            case Finish():
                yield from self._ended(event.choice)
                sequence = event.stop_sequence
                if sequence is not None:
                    sequence = restore(sequence, self._vault)
                yield replace(event, stop_sequence=sequence, own=restore(event.own, self._vault, depth=1))

    def _own(self, event: OwnBlock | OwnDelta) -> OwnBlock | OwnDelta:
        if event.sealed:
            return event
        return replace(event, json=restore(event.json, self._vault, depth=1))

    def _ended(self, choice: int) -> Iterator[Event]:
        yield from self._ended_thought(choice)
        yield from self._ended_text(choice)

    def _ended_text(self, choice: int) -> Iterator[Event]:
        if choice in self._texts and (rest := self._texts.pop(choice).flush()):
            yield TextDelta(rest, choice=choice)

    def _ended_thought(self, choice: int) -> Iterator[Event]:
        if choice in self._thoughts and (rest := self._thoughts.pop(choice).flush()):
            yield ReasoningDelta(rest, choice)
