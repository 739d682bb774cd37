"""Puts the values of a call back into the events that answer it, as they come.

Text and reasoning of each choice are streams of their own, in which a token may be split anywhere, also by what a
dialect adds to a text in its middle; a tool call is whole. Must not know where the tokens come from. Source: shield.md
("Restoring").
"""

from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeVar

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
from appliance.dialects.jsontext import JsonText, TooDeep
from appliance.shield.restore import restore
from appliance.shield.streams import Restorer
from appliance.shield.vault import Vault

_Own = TypeVar("_Own", bound=OwnBlock | OwnDelta)


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


@dataclass(slots=True)
class _Text:
    """The text of one choice. `came` counts its characters, and `added` are additions that wait for what is held back
    before them, each with the number of characters before it."""

    restorer: Restorer
    came: int = 0
    added: list[tuple[int, OwnDelta]] = field(default_factory=list[tuple[int, OwnDelta]])

    def feed(self, text: str) -> str:
        self.came += len(text)
        return self.restorer.feed(text)

    def add(self, event: OwnDelta) -> None:
        self.added.append((self.came, event))

    def settled(self) -> Iterator[OwnDelta]:
        """The additions before which nothing waits any more, in order."""
        while self.added and self.added[0][0] <= self.came - self.restorer.held:
            yield self.added.pop(0)[1]


class _Restoring:
    def __init__(self, vault: Vault, depth: int, *, thoughts: bool) -> None:
        self._vault = vault
        self._depth = depth
        self._keeps_thoughts = not thoughts
        self._texts: dict[int, _Text] = {}
        self._thoughts: dict[int, Restorer] = {}

    def feed(self, event: Event) -> Iterator[Event]:
        match event:
            case TextDelta():
                yield from self._ended_thought(event.choice)
                if event.choice not in self._texts:
                    self._texts[event.choice] = _Text(Restorer(self._vault, self._depth))
                said = self._texts[event.choice]
                text = said.feed(event.text)
                if text or event.chances:
                    yield replace(event, text=text)
                yield from said.settled()
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
            case OwnDelta() if event.choice in self._texts and not event.sealed:
                # The text goes on behind it, and with it a token that has begun.
                said = self._texts[event.choice]
                said.add(self._own(event))
                yield from said.settled()
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

    def _own(self, event: _Own) -> _Own:
        return event if event.sealed else replace(event, json=self._around(event.json, event.kept))

    def _around(self, document: str, kept: Collection[str]) -> str:
        """The document restored, but for these strings of it."""
        if not kept:
            return restore(document, self._vault, depth=1)
        try:
            texts = JsonText.read(document, lambda _, text: text not in kept)
        except TooDeep:
            return document
        return texts.with_texts(restore(text, self._vault) for text in texts.texts)

    def _ended(self, choice: int) -> Iterator[Event]:
        yield from self._ended_thought(choice)
        yield from self._ended_text(choice)

    def _ended_text(self, choice: int) -> Iterator[Event]:
        said = self._texts.pop(choice, None)
        if said is None:
            return
        if rest := said.restorer.flush():
            yield TextDelta(rest, choice=choice)
        yield from said.settled()

    def _ended_thought(self, choice: int) -> Iterator[Event]:
        if choice in self._thoughts and (rest := self._thoughts.pop(choice).flush()):
            yield ReasoningDelta(rest, choice)
