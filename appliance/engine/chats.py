"""One `/api/chat` call: from its body to llama.cpp and back, whole or streamed.

It must not know routes or headers of the guard.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from aiohttp import web

from appliance.engine import answers, llama, llama_chat
from appliance.engine.answers import Voice
from appliance.engine.aside import LARGE, aside
from appliance.engine.calls import CallReader, call_grammar, read_calls
from appliance.engine.clock import Clock
from appliance.engine.fitting import Least, fit
from appliance.engine.formats import grammar_of
from appliance.engine.gbnf import Grammar
from appliance.engine.llama import Event, Prompt
from appliance.engine.options import Options, parse_options
from appliance.engine.refusal import Refused
from appliance.engine.requests import ChatRequest, check_chat, parse_chat
from appliance.engine.shelf import Served, Shelf
from appliance.engine.tools import new_call_id
from appliance.engine.writing import Writer, json_response


class Chats:
    def __init__(self, shelf: Shelf, clock: Clock, new_id: Callable[[], str] = new_call_id) -> None:
        self._shelf = shelf
        self._clock = clock
        self._new_id = new_id

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers one request. Raises Refused, or EngineError if llama.cpp fails before the first piece of text."""
        began = self._clock.steady_ns()
        body = await request.read()
        asked = await aside(len(body), parse_chat, body)
        voice = Voice(asked.terms.model, answers.in_message)
        served = await self._shelf.find(asked.terms.model)
        if served is None:
            raise Refused(404, f"model '{asked.terms.model}' not found")
        if asked.unloads:
            await served.residence.unload()
            return json_response(voice.residence(self._clock.wall_ns(), "unload"))
        if served.model.embeds:
            raise Refused(400, f'"{asked.terms.model}" does not support chat')
        check_chat(asked, served.model.tag, tools=served.model.tools != "none")
        options = parse_options(asked.terms.options, served.model.with_tools if asked.tools else {})
        grammar = await aside(LARGE if asked.terms.format else 0, grammar_of, asked.terms.format)
        async with served.residence.hold(asked.terms.keep_alive):
            if not asked.messages:
                return json_response(voice.residence(self._clock.wall_ns(), "load"))
            writer = Writer(voice, self._clock, began)
            async with aclosing(await self._events(served, asked, options, grammar)) as events:
                return await (writer.stream(request, events) if asked.terms.stream else writer.whole(events))

    async def _events(
        self, served: Served, asked: ChatRequest, options: Options, grammar: Grammar | None
    ) -> AsyncGenerator[Event]:
        limit = min(options.num_ctx or served.context, served.context)
        prompt = await fit(
            asked.messages,
            limit,
            truncate=asked.terms.truncate,
            render=lambda messages: served.runner.render(messages, asked.tools),
            least=Least(served.model.floor.of_message, served.model.floor.of_tools(asked.tools, asked.messages)),
        )
        bare = grammar is not None
        if asked.tools and not bare:
            if served.model.tools == "native":
                return self._native(served, asked, options, prompt, limit)
            grammar = await aside(LARGE, call_grammar, asked.tools)
        body = llama.completion_body(
            prompt.tokens,
            options,
            limit=limit,
            stops=served.model.stops,
            ceiling=served.model.ceiling,
            alternatives=asked.terms.top_logprobs if asked.terms.logprobs else None,
            grammar=grammar,
        )
        events = served.runner.generate(body, prompt.tokens, alternatives=asked.terms.top_logprobs)
        if not asked.tools:
            return events
        return read_calls(events, CallReader(asked.tools, self._new_id, bare=bare))

    def _native(
        self, served: Served, asked: ChatRequest, options: Options, prompt: Prompt, limit: int
    ) -> AsyncGenerator[Event]:
        if asked.terms.logprobs:
            raise Refused(400, f"{served.model.tag} does not support logprobs together with tools")
        body = llama_chat.chat_body(prompt, asked.tools, options, limit=limit, ceiling=served.model.ceiling)
        return served.runner.chat(body, prompt.tokens, llama_chat.ChatReader(self._new_id))
