"""The fewest tokens that a conversation can have, known without asking llama.cpp. Pure.

A conversation of which this alone is too much is never given to llama.cpp, which would take seconds to count it and
could not be stopped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from appliance.engine.requests import Message
from appliance.engine.tools import Tool


@dataclass(frozen=True, slots=True)
class Floor:
    """What holds for every text and every conversation of one model."""

    token_bytes: int
    """Bytes of the longest token of its vocabulary."""
    message: int
    """Tokens that its template puts around a message, at least, and that no text melts into."""
    words: bool = False
    """Whether no token goes from one word to the next, so that every word is one token at least."""
    whole: bool = False
    """Whether its template leaves nothing out: calls of tools, and tools unless the last message is a result."""

    def of_text(self, text: str) -> int:
        size = -(-len(text.encode()) // self.token_bytes)
        return max(size, len(text.split())) if self.words else size

    def of_message(self, message: Message) -> int:
        tokens = self.message + max(1, self.of_text(message.content))  # at least the blank before an empty one
        if self.whole and message.role != "tool":
            tokens += sum(self.of_text(each.name) + self._of_json(each.arguments) for each in message.calls)
        return tokens

    def of_tools(self, tools: Sequence[Tool], messages: Sequence[Message]) -> int:
        if not self.whole or not messages or messages[-1].role == "tool":
            return 0
        return sum(self.of_text(each.description) + self._of_json(each.parameters) for each in tools)

    def _of_json(self, value: object) -> int:
        """Without its blanks, of which templates write more or fewer."""
        return len(orjson.dumps(value)) // self.token_bytes


BUNDLED_FLOOR = Floor(token_bytes=81, message=3, words=True, whole=True)
"""SmolLM2's vocabulary, and our template."""
ANY_FLOOR = Floor(token_bytes=256, message=0)
"""A model of which nothing is known: the longest tokens in use are some 128 blanks."""
