"""A model that knows one tool, played by the double of each kind of machine and provider.

It calls the tool once, with what it sees of the values in its task, and at the result says that it is done. Behind the
shield it sees tokens, and so it is tokens that it writes: whatever value comes out at the client was restored.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from tests.calls.outside import TOKEN, Double
from tests.upstreams import anthropic as anthropic_wire
from tests.upstreams import ollama as ollama_wire
from tests.upstreams import openai as openai_wire
from tests.upstreams.ollama import OllamaDouble

Json = dict[str, Any]

PIECE = 5
"""Characters in a piece of an answer: fewer than a token has, so that each comes in several."""


def pieces(text: str) -> tuple[str, ...]:
    return tuple(text[i : i + PIECE] for i in range(0, len(text), PIECE))


@dataclass
class Player:
    """What the model does, whatever wire it is asked on: `call` and `tell` get what it sees of the `values`.

    `marker` is where in its prompt the task begins: what a client writes before it is not looked at.
    """

    marker: str
    values: tuple[str, ...]
    tool: str
    call: Callable[[list[str]], Json]
    """The input of the call."""
    tell: Callable[[list[str]], str]
    """The text at the end."""
    seen: list[list[str]] = field(default_factory=list[list[str]])
    """The values as they were seen, one list a request."""

    def take(self, double: Double | OllamaDouble, kind: str) -> None:
        """The double is this model from now on; `kind` is its provider's, or `ollama`."""
        double.default = {"anthropic": self._anthropic, "ollama": self._ollama, "mistral": self._mistral}.get(
            kind, self._openai
        )  # type: ignore[assignment]  each double has scripts of its own kind

    def _look(self, texts: Iterable[str]) -> list[str]:
        task = next((text[text.index(self.marker) :] for text in texts if self.marker in text), "")
        value = re.compile("|".join([TOKEN.pattern, *map(re.escape, self.values)]))
        self.seen.append(value.findall(task)[: len(self.values)])
        return self.seen[-1]

    async def _anthropic(self, request: web.Request, body: Json) -> web.StreamResponse:
        seen = self._look(anthropic_wire.texts_of(body))
        if any(block["type"] == "tool_result" for block in body["messages"][-1]["content"] if isinstance(block, dict)):
            return await anthropic_wire.answers(*pieces(self.tell(seen)))(request, body)
        given = orjson.dumps(self.call(seen)).decode()
        return await anthropic_wire.calls((self.tool, pieces(given)), before="At once.")(request, body)

    async def _openai(self, request: web.Request) -> web.StreamResponse:
        seen, answered = self._read(orjson.loads(await request.read()))
        if answered:
            return await openai_wire.answers(*pieces(self.tell(seen)))(request)
        given = orjson.dumps(self.call(seen)).decode()
        return await openai_wire.calls(self.tool, given, piece=PIECE)(request)

    async def _mistral(self, request: web.Request) -> web.StreamResponse:
        seen, answered = self._read(orjson.loads(await request.read()))
        if answered:
            return await openai_wire.mistral_answers(*pieces(self.tell(seen)))(request)
        given = orjson.dumps(self.call(seen)).decode()
        return await openai_wire.call_shapes(self.tool, given)["whole, with the reason"](request)

    async def _ollama(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        seen, answered = self._read(orjson.loads(data))
        if answered:
            said = [ollama_wire.line(piece) for piece in pieces(self.tell(seen))]
        else:
            called = ollama_wire.called(self.tool, self.call(seen), id="call_double", function={"index": 0})
            said = [ollama_wire.line(tool_calls=[called])]
        # A count of a few tokens would say that the machine has cut the prompt.
        return await ollama_wire.says(*said, ollama_wire.done(prompt=len(data) // 4))(request)

    def _read(self, body: Json) -> tuple[list[str], bool]:
        """What it sees, and whether its call has been answered, where messages have roles and texts alone."""
        return self._look(_texts(body["messages"])), any(message["role"] == "tool" for message in body["messages"])


def _texts(messages: Iterable[Json]) -> Iterable[str]:
    for message in messages:
        content = message.get("content") or ""
        yield content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def ids_of(body: Json) -> tuple[list[str], list[str]]:
    """The ids of the calls in a conversation, and those that its results name."""
    calls: list[str] = []
    results: list[str] = []
    for message in body["messages"]:
        calls += [call["id"] for call in message.get("tool_calls") or ()]
        results += [message["tool_call_id"]] if message["role"] == "tool" else []
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            calls += [block["id"]] if block["type"] == "tool_use" else []
            results += [block["tool_use_id"]] if block["type"] == "tool_result" else []
    return calls, results
