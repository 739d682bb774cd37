"""Keys, one after the other: the next one is looked at when what the one before has begun is on the screen.

Textual hands a key to the widget that has the focus at that moment, and goes on. On a slow line several keys come at
once, and the later ones would reach a form that is not open yet, a field that is left, or the page behind.
Must not know what any key does.
"""

import asyncio

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.driver import Driver
from textual.message_pump import MessagePump
from textual.widgets import Input, TextArea

PATIENCE_SECONDS = 2.0
"""Of a widget that is too busy to say that it is done. Then the next key goes out all the same."""

MOST_CHANGES = 8
"""Of the focus, through one key."""


class TypedApp(App[None]):
    """An app that takes its keys in order."""

    def __init__(self, *, driver_class: type[Driver] | None = None, ansi_color: bool | None = None) -> None:
        super().__init__(driver_class=driver_class, ansi_color=ansi_color)
        self._typed = asyncio.Queue[events.Event]()

    def on_mount(self) -> None:
        self.run_worker(self._deliver, group="typed")

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._typed.put_nowait(event)
        else:
            await super().on_event(event)

    def drop_typed(self) -> None:
        """Forget what was typed ahead: it was meant for what has ended just now."""
        while not self._typed.empty():
            self._typed.get_nowait()
            self._typed.task_done()

    async def all_typed(self) -> None:
        """Every key that came has been looked at."""
        await self._typed.join()

    async def _deliver(self) -> None:
        while True:
            event = await self._typed.get()
            try:
                await self._take(event)
            finally:
                self._typed.task_done()

    async def _take(self, event: events.Event) -> None:
        target = self._target
        await super().on_event(event)
        if isinstance(target, Input | TextArea) and (isinstance(event, events.Paste) or _is_text(event)):
            return  # a field takes text in the order in which it comes, and stays the field
        await self._handled(target)
        # What an action posts, such as that a field is done, goes up the same way once more.
        await self._handled(target)
        for _ in range(MOST_CHANGES):
            if self._target is target:
                return
            target = self._target
            await self._handled(target)

    @property
    def _target(self) -> DOMNode:
        return self.focused or self.screen

    async def _handled(self, target: DOMNode) -> None:
        """All that was in the way of a key from its widget up to the app has been dealt with, and so has the key."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                for node in target.ancestors_with_self:
                    await _reached(node)
        except TimeoutError:
            pass


async def _reached(pump: MessagePump) -> None:
    done = asyncio.Event()
    if pump.call_later(done.set):
        await done.wait()


def _is_text(event: events.Event) -> bool:
    return isinstance(event, events.Key) and event.is_printable
