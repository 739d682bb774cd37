"""The models that the engine serves, each with its own llama.cpp: one for text, and one for embeddings if there is.

The one for embeddings may still be in the making, which only those wait for who need to know. It must not know
requests or HTTP.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from appliance.engine.clock import Clock
from appliance.engine.models import Model, digest_of
from appliance.engine.residence import Residence
from appliance.engine.runner import Runner, RunnerSettings
from appliance.errors import EngineError

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """One model. `context` is tokens per conversation or text: what a request can ask for at most."""

    model: Model
    runner: Runner
    residence: Residence
    context: int
    digest: "asyncio.Task[str]"
    """The file's SHA-256, awaited only by the answers that need it, since a large file takes seconds."""

    async def close(self) -> None:
        self.digest.cancel()
        await self.residence.close()


def serve(model: Model, settings: RunnerSettings, clock: Clock) -> Served:
    """Puts a model up, without loading it. A context longer than the model's own is cut to that."""
    context = min(settings.context, model.context_length or settings.context)
    runner = Runner(model, RunnerSettings(settings.threads, settings.slots, context, settings.verbose))
    digest = asyncio.create_task(digest_of(model.path), name="engine-digest")
    return Served(model, runner, Residence(runner, clock=clock), context, digest)


class Shelf:
    def __init__(self, text: Served, embedding: Coroutine[Any, Any, Served | None]) -> None:
        self.text = text
        self._embedding = asyncio.create_task(_none_if_it_fails(embedding), name="engine-embedding")

    async def find(self, name: str) -> Served | None:
        """The model of that name. Only a name that is not the first model's waits for the second."""
        if self.text.model.is_called(name):
            return self.text
        embedding = await asyncio.shield(self._embedding)
        return embedding if embedding is not None and embedding.model.is_called(name) else None

    async def all(self) -> list[Served]:
        embedding = await asyncio.shield(self._embedding)
        return [self.text] if embedding is None else [self.text, embedding]

    async def watch(self) -> None:
        """Takes each model out of memory when its time has come. Runs until cancelled."""
        await asyncio.gather(self.text.residence.watch(), self._watch_embedding())

    async def close(self) -> None:
        """Ends what runs, whatever runs in it."""
        self._embedding.cancel()
        await asyncio.wait([self._embedding])
        if not self._embedding.cancelled() and (embedding := self._embedding.result()) is not None:
            await embedding.close()
        await self.text.close()

    async def _watch_embedding(self) -> None:
        embedding = await asyncio.shield(self._embedding)
        if embedding is not None:
            await embedding.residence.watch()


async def _none_if_it_fails(embedding: Coroutine[Any, Any, Served | None]) -> Served | None:
    try:
        return await embedding
    except EngineError as error:
        _logger.error("%s", error)
        return None
