"""The text of an answer, whose hash is its evidence: the content of all choices, in the order of the choices.

Reasoning and tool calls are no part of it. The choices of one call may come mixed; `InOrder` puts their text in order
while it arrives, so that one hash can be fed with it: the text of choice 0 passes at once, that of a later choice
waits until those before it have finished.
"""

from collections.abc import Iterable

from appliance.dialects.chat import Event, Finish, TextDelta


class InOrder:
    """Feed every event of an answer and take its text, piece by piece; then take the `rest`. Use once."""

    def __init__(self) -> None:
        self._current = 0
        self._finished: set[int] = set()
        self._waiting: dict[int, list[str]] = {}

    def feed(self, event: Event) -> tuple[str, ...]:
        """The pieces of text that are next, now that `event` has come."""
        if isinstance(event, TextDelta):
            if event.choice == self._current:
                return (event.text,)
            self._waiting.setdefault(event.choice, []).append(event.text)
        elif isinstance(event, Finish):
            self._finished.add(event.choice)
        return self._passed()

    def rest(self) -> tuple[str, ...]:
        """What still waits, of an answer that broke off: in the order of the choices too."""
        return tuple(piece for choice in sorted(self._waiting) for piece in self._waiting.pop(choice))

    def _passed(self) -> tuple[str, ...]:
        pieces: list[str] = []
        while self._current in self._finished:
            self._current += 1
            pieces += self._waiting.pop(self._current, ())
        return tuple(pieces)


def answer_text(events: Iterable[Event]) -> str:
    """The text of an answer, whole or broken off, whatever the order in which its choices came."""
    order = InOrder()
    pieces = [piece for event in events for piece in order.feed(event)]
    return "".join([*pieces, *order.rest()])
