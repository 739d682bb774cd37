"""Writes one answer over HTTP, whole or streamed, from the events of which the last is an `End`.

An error before the first piece of text is an exception, so that it gets its own status; after it, it is the last line
of the stream, as Ollama does it. It must not know what was asked.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from aiohttp import web

from appliance.engine import answers
from appliance.engine.answers import Timing, Voice
from appliance.engine.clock import Clock
from appliance.engine.llama import Event, Piece, RunnerFailed
from appliance.engine.tools import ToolCall
from appliance.errors import EngineError

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson"

_NO_END = "the model runner stopped before the answer was done"

Remember = Callable[[str], Awaitable[Sequence[int]]]
"""The tokens of the whole exchange, from the text of the answer."""


async def forget(_: str) -> Sequence[int]:
    """For an answer that does not tell the tokens of its exchange."""
    return ()


def json_response(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, headers={"Content-Type": JSON})


class Writer:
    """Made when the model is in memory. `began` is when the request came, in nanoseconds of the steady clock."""

    def __init__(self, voice: Voice, clock: Clock, began: int) -> None:
        self._voice = voice
        self._clock = clock
        self._began = began
        self._loaded = clock.steady_ns()

    async def whole(self, events: AsyncGenerator[Event], remember: Remember = forget) -> web.Response:
        said: list[Piece | ToolCall] = []
        async for event in events:
            if isinstance(event, Piece | ToolCall):
                said.append(event)
            else:
                context = await remember(_text_of(said))
                return json_response(self._voice.whole(self._now(), said, event, self._timing(), context))
        raise RunnerFailed(_NO_END)

    async def stream(
        self, request: web.Request, events: AsyncGenerator[Event], remember: Remember = forget
    ) -> web.StreamResponse:
        first = await anext(events, None)
        if first is None:
            raise RunnerFailed(_NO_END)
        response = web.StreamResponse(headers={"Content-Type": NDJSON})
        await response.prepare(request)
        try:
            await self._lines(response, first, events, remember)
        except EngineError as error:
            await response.write(answers.error(error.message) + b"\n")
        await response.write_eof()
        return response

    async def _lines(
        self,
        response: web.StreamResponse,
        event: Event,
        events: AsyncGenerator[Event],
        remember: Remember,
    ) -> None:
        said: list[Piece | ToolCall] = []
        while isinstance(event, Piece | ToolCall):
            said.append(event)
            await response.write(self._voice.line(self._now(), event))
            following = await anext(events, None)
            if following is None:
                raise RunnerFailed(_NO_END)
            event = following
        context = await remember(_text_of(said))
        await response.write(self._voice.last_line(self._now(), event, self._timing(), context))

    def _now(self) -> int:
        return self._clock.wall_ns()

    def _timing(self) -> Timing:
        return Timing(self._clock.steady_ns() - self._began, self._loaded - self._began)


def _text_of(said: Sequence[Piece | ToolCall]) -> str:
    return "".join(each.text for each in said if isinstance(each, Piece))
