"""One `/api/generate` call: a prompt without a conversation, from its body to llama.cpp and back.

It must not know routes or headers of the guard. The field `context`, which Ollama calls deprecated, is honoured: its
tokens stand before the prompt.
"""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from aiohttp import web

from appliance.engine import answers, llama
from appliance.engine.answers import Voice
from appliance.engine.aside import LARGE, aside
from appliance.engine.clock import Clock
from appliance.engine.fitting import Least, fit
from appliance.engine.formats import grammar_of
from appliance.engine.gbnf import Grammar
from appliance.engine.llama import Event, Prompt
from appliance.engine.options import MAX_INT, Options, parse_options
from appliance.engine.refusal import Refused, context_exceeded
from appliance.engine.requests import GenerateRequest, Message, check_generate, parse_generate
from appliance.engine.shelf import Served, Shelf
from appliance.engine.writing import Remember, Writer, forget, json_response


class Generates:
    def __init__(self, shelf: Shelf, clock: Clock) -> None:
        self._shelf = shelf
        self._clock = clock

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answers one request. Raises Refused, or EngineError if llama.cpp fails before the first piece of text."""
        began = self._clock.steady_ns()
        body = await request.read()
        asked = await aside(len(body), parse_generate, body)
        terms = asked.terms
        voice = Voice(terms.model, answers.in_response)
        served = await self._shelf.find(terms.model)
        if served is None:
            raise Refused(404, f"model '{terms.model}' not found")
        if asked.unloads:
            await served.residence.unload()
            return json_response(voice.residence(self._clock.wall_ns(), "unload"))
        if served.model.embeds:
            raise Refused(400, f'"{terms.model}" does not support generate')
        check_generate(asked, served.model.tag)
        options = parse_options(terms.options)
        grammar = await aside(LARGE if terms.format else 0, grammar_of, terms.format)
        async with served.residence.hold(terms.keep_alive):
            if not asked.prompt:
                return json_response(voice.residence(self._clock.wall_ns(), "load"))
            writer = Writer(voice, self._clock, began)
            limit = min(options.num_ctx or served.context, served.context)
            prompt = await _prompt(served, asked, limit)
            remember = forget if asked.raw else _remembering(served, prompt)
            async with aclosing(_events(served, asked, options, grammar, prompt, limit)) as events:
                if terms.stream:
                    return await writer.stream(request, events, remember)
                return await writer.whole(events, remember)


async def _prompt(served: Served, asked: GenerateRequest, limit: int) -> Prompt:
    """Raises Refused if it does not fit, since there is no whole message that could go."""
    earlier = await _earlier(served, asked.context, limit) if asked.context else ""

    async def render(messages: Sequence[Message]) -> Prompt:
        rendered = asked.prompt if asked.raw else (await served.runner.render(messages)).text
        return Prompt(earlier + rendered, await served.runner.tokenize(earlier + rendered))

    system = [Message("system", asked.system)] if asked.system else []
    messages = [*system, Message("user", asked.prompt)]
    floor = served.model.floor
    least = Least((lambda message: floor.of_text(message.content)) if asked.raw else floor.of_message)
    return await fit(messages, limit, truncate=False, render=render, least=least)


async def _earlier(served: Served, context: Sequence[int], limit: int) -> str:
    """The text of an earlier exchange."""
    if len(context) >= limit:
        raise context_exceeded(len(context), limit)
    if all(0 <= token <= MAX_INT for token in context):
        with contextlib.suppress(Refused):
            return await served.runner.detokenize(context)
    raise Refused(400, "context holds a token that the model does not have")


def _events(
    served: Served,
    asked: GenerateRequest,
    options: Options,
    grammar: Grammar | None,
    prompt: Prompt,
    limit: int,
) -> AsyncGenerator[Event]:
    terms = asked.terms
    body = llama.completion_body(
        prompt.tokens,
        options,
        limit=limit,
        stops=served.model.stops,
        ceiling=served.model.ceiling,
        alternatives=terms.top_logprobs if terms.logprobs else None,
        grammar=grammar,
    )
    return served.runner.generate(body, prompt.tokens, alternatives=terms.top_logprobs)


def _remembering(served: Served, prompt: Prompt) -> Remember:
    async def remember(answer: str) -> Sequence[int]:
        return await served.runner.tokenize(prompt.text + answer)

    return remember
