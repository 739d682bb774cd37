"""`/api/embed` and the older `/api/embeddings`: texts in, vectors of length 1 out.

It must not know routes or headers of the guard. Source: recordings 48 to 55, and Ollama 0.32 for the order of its
checks.
"""

import math
from collections.abc import AsyncGenerator, Sequence

import orjson
from aiohttp import web

from appliance.engine.aside import aside
from appliance.engine.clock import Clock
from appliance.engine.embed_requests import EmbedRequest, parse_embed, parse_embeddings
from appliance.engine.options import parse_options
from appliance.engine.refusal import Refused
from appliance.engine.runner import Runner
from appliance.engine.shelf import Served, Shelf
from appliance.engine.writing import json_response

BATCH = 16
"""Texts given to llama.cpp at once: enough to keep its slots busy, and few enough that reading the vectors does not
hold up other calls."""

_TOO_LONG = "the input length exceeds the context length"
_NOT_FOR_TEXT = "This server does not support embeddings. Start it with `--embeddings`"
_LEAST_LENGTH = 1e-12
"""A vector shorter than this has no direction."""


class Embeds:
    def __init__(self, shelf: Shelf, clock: Clock) -> None:
        self._shelf = shelf
        self._clock = clock

    async def handle(self, request: web.Request) -> web.Response:
        """Answers `/api/embed`. Raises Refused, or EngineError if llama.cpp fails."""
        began = self._clock.steady_ns()
        body = await request.read()
        asked = await aside(len(body), parse_embed, body)
        served = await self._shelf.find(asked.model)
        if served is None:
            raise Refused(404, f"model '{asked.model}' not found")
        limit = _limit(served, asked)
        async with served.residence.hold(asked.keep_alive):
            loaded = self._clock.steady_ns()
            if not asked.inputs:
                return json_response(orjson.dumps({"model": asked.model, "embeddings": []}))
            texts = await _tokens(served.runner, asked, limit)
            vectors = [
                [nine_digits(number) for number in shortened(vector, asked.dimensions)]
                async for vector in _vectors(served.runner, texts)
            ]
        answer = {
            "model": asked.model,
            "embeddings": vectors,
            "total_duration": self._clock.steady_ns() - began,
            "load_duration": loaded - began,
            "prompt_eval_count": sum(len(text) for text in texts),
        }
        return json_response(orjson.dumps(answer))

    async def handle_older(self, request: web.Request) -> web.Response:
        """Answers `/api/embeddings`. Raises Refused, or EngineError if llama.cpp fails."""
        asked = parse_embeddings(await request.read())
        served = await self._shelf.find(asked.model)
        if served is None:
            raise Refused(404, f'model "{asked.model}" not found, try pulling it first')
        limit = _limit(served, asked)
        async with served.residence.hold(asked.keep_alive):
            if not asked.inputs:
                return json_response(b'{"embedding":[]}')
            (vector,) = await served.runner.embed(await _tokens(served.runner, asked, limit))
        return json_response(orjson.dumps({"embedding": vector}))


def shortened(vector: list[float], dimensions: int) -> list[float]:
    """The first numbers of a vector, made one of length 1 again; 0 means all of them."""
    if not 0 < dimensions < len(vector):
        return vector
    first = vector[:dimensions]
    length = max(math.hypot(*first), _LEAST_LENGTH)
    return [number / length for number in first]


def nine_digits(number: float) -> float:
    """The number with as many digits as a 32-bit float needs, which is half of what JSON would take otherwise."""
    return float(f"{number:.9g}")


def _limit(served: Served, asked: EmbedRequest) -> int:
    """Tokens that a text may have. Raises Refused if the model makes no embeddings, before it is loaded for nothing."""
    options = parse_options(asked.options)
    if asked.inputs and not served.model.embeds:
        raise Refused(501, _NOT_FOR_TEXT)
    return min(options.num_ctx or served.context, served.context)


async def _tokens(runner: Runner, asked: EmbedRequest, limit: int) -> list[list[int]]:
    texts: list[list[int]] = []
    for text in asked.inputs:
        tokens = await runner.tokenize(text)
        if len(tokens) > limit:
            if not asked.truncate:
                raise Refused(400, _TOO_LONG)
            tokens = cut(tokens, await runner.tokenize(text, special=False), limit)
        texts.append(tokens)
    return texts


def cut(tokens: Sequence[int], bare: Sequence[int], limit: int) -> list[int]:
    """The first tokens, and what the model wants after a text. `bare` is the text without what stands around it."""
    before = 0
    while before < len(tokens) - len(bare) and tokens[before] != bare[0]:
        before += 1
    after = len(tokens) - len(bare) - before
    if before + after >= limit:
        raise Refused(400, _TOO_LONG)
    return [*tokens[: limit - after], *tokens[len(tokens) - after :]]


async def _vectors(runner: Runner, texts: Sequence[Sequence[int]]) -> AsyncGenerator[list[float]]:
    for start in range(0, len(texts), BATCH):
        for vector in await runner.embed(texts[start : start + BATCH]):
            yield vector
