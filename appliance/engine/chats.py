"""One `/api/chat` call: from its body to llama.cpp and back, whole or streamed.

It must not know routes or headers of the guard. An error before the first piece of text is an exception, so that it
gets its own status; after it, it is the last line of the stream, as Ollama does it.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from appliance.engine import answers, llama
from appliance.engine.answers import Timing
from appliance.engine.clock import Clock
from appliance.engine.fitting import fit
from appliance.engine.llama import Event, Piece
from appliance.engine.models import Model
from appliance.engine.options import Options, parse_options
from appliance.engine.refusal import Refused
from appliance.engine.requests import ChatRequest, check_abilities, parse_chat
from appliance.engine.residence import Residence
from appliance.engine.runner import Runner
from appliance.errors import EngineError

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson"


class Chats:
    """`context` is tokens per conversation: what a request can ask for at most, and gets by default."""

    def __init__(self, model: Model, runner: Runner, residence: Residence, *, context: int, clock: Clock) -> None:
        self._model = model
        self._runner = runner
        self._residence = residence
        self._context = context
        self._clock = clock

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers one request. Raises Refused, or EngineError if llama.cpp fails before the first piece of text."""
        began = self._clock.steady_ns()
        asked = parse_chat(await request.read())
        if not self._model.is_called(asked.model):
            raise Refused(404, f"model '{asked.model}' not found")
        if asked.unloads:
            await self._residence.unload()
            return self._without_text(asked.model, loads=False)
        check_abilities(asked, self._model.tag)
        options = parse_options(asked.options)
        async with self._residence.hold(asked.keep_alive):
            if not asked.messages:
                return self._without_text(asked.model, loads=True)
            answer = _Answer(asked.model, self._clock, began)
            async with aclosing(await self._events(asked, options)) as events:
                if asked.stream:
                    return await answer.stream(request, events)
                return await answer.whole(events)

    async def _events(self, asked: ChatRequest, options: Options) -> AsyncGenerator[Event]:
        limit = min(options.num_ctx or self._context, self._context)
        tokens = await fit(asked.messages, limit, truncate=asked.truncate, tokenize=self._runner.tokenize)
        body = llama.completion_body(
            tokens,
            options,
            limit=limit,
            stops=self._model.stops,
            ceiling=self._model.ceiling,
            alternatives=asked.top_logprobs if asked.logprobs else None,
        )
        return self._runner.generate(body, alternatives=asked.top_logprobs)

    def _without_text(self, name: str, *, loads: bool) -> web.Response:
        body = answers.residence(name, self._clock.wall_ns(), "load" if loads else "unload")
        return web.Response(body=body, headers={"Content-Type": JSON})


class _Answer:
    """Writes one answer from events of which the last is an `End`. Made when the model is in memory.

    `began` is when the request came, in nanoseconds of the steady clock.
    """

    def __init__(self, name: str, clock: Clock, began: int) -> None:
        self._name = name
        self._clock = clock
        self._began = began
        self._loaded = clock.steady_ns()

    async def whole(self, events: AsyncGenerator[Event]) -> web.Response:
        pieces: list[Piece] = []
        event = await anext(events)
        while isinstance(event, Piece):
            pieces.append(event)
            event = await anext(events)
        body = answers.whole(self._name, self._clock.wall_ns(), pieces, event, self._timing())
        return web.Response(body=body, headers={"Content-Type": JSON})

    async def stream(self, request: web.Request, events: AsyncGenerator[Event]) -> web.StreamResponse:
        event = await anext(events)
        response = web.StreamResponse(headers={"Content-Type": NDJSON})
        await response.prepare(request)
        try:
            while isinstance(event, Piece):
                await response.write(answers.piece_line(self._name, self._clock.wall_ns(), event))
                event = await anext(events)
            await response.write(answers.end_line(self._name, self._clock.wall_ns(), event, self._timing()))
        except EngineError as error:
            await response.write(answers.error(error.message) + b"\n")
        await response.write_eof()
        return response

    def _timing(self) -> Timing:
        return Timing(self._clock.steady_ns() - self._began, self._loaded - self._began)
