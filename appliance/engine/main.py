"""The engine's process: `run` is what `synapse engine` calls.

It builds the parts and hands them to each other, says when it is ready, and ends on SIGINT or SIGTERM. It reads no
settings and parses no arguments.
"""

import asyncio
import importlib.metadata
import importlib.util
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.engine import minilm
from appliance.engine.clock import Clock
from appliance.engine.models import Model, load_embedding_model, load_model
from appliance.engine.runner import RunnerSettings
from appliance.engine.server import Front
from appliance.engine.shelf import Served, Shelf, serve
from appliance.errors import EngineError

OLLAMA_VERSION = "0.32.15"
"""The Ollama whose API the engine speaks."""
MAX_SLOTS = 64
"""Conversations at once. Each holds the memory of a whole context from the start."""
MIN_CONTEXT = 64
"""Tokens of a context that can hold a question and an answer."""


def announce(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """`model` is a GGUF file, `None` the bundled one; `context` is tokens per slot; port 0 lets the system choose.

    `embedding_model` is a GGUF file, `None` the bundled one, which is prepared in the directory `state`. `on_ready`
    gets one line of text when the engine listens and the model is loaded. `debug` lets llama.cpp's own log, which
    holds no prompt, through to stderr.
    """

    state: Path
    host: str = "127.0.0.1"
    port: int = 11480
    model: Path | None = None
    embedding_model: Path | None = None
    threads: int = 1
    slots: int = 4
    context: int = 4096
    debug: bool = False
    on_ready: Callable[[str], None] = announce


def run(options: EngineOptions) -> int:
    """Serves until SIGINT or SIGTERM, then returns 0. Raises EngineError, with advice, if it cannot start."""
    _check(options)
    text = load_model(options.model)
    embedding = None if options.embedding_model is None else load_embedding_model(options.embedding_model)
    return asyncio.run(_serve(options, text, embedding))


def engine_version() -> str:
    """What `/api/version` says: whose API it is, and in the build part what answers."""
    return f"{OLLAMA_VERSION}+xllamacpp.{importlib.metadata.version('xllamacpp')}"


def _check(options: EngineOptions) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise EngineError(
            "llama.cpp is not installed.", advice="Run scripts/up, or pip install 'synapse-appliance[embedded]'."
        )
    if options.threads < 1:
        raise EngineError("The engine needs at least one thread.", advice="Give --threads 1 or more.")
    if not 1 <= options.slots <= MAX_SLOTS:
        raise EngineError(f"The engine serves 1 to {MAX_SLOTS} calls at once.", advice="Give another --slots.")
    if options.context < MIN_CONTEXT:
        raise EngineError(f"A context has at least {MIN_CONTEXT} tokens.", advice="Give a larger --context.")


async def _serve(options: EngineOptions, text: Model, embedding: Model | None) -> int:
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    clock = Clock()
    settings = RunnerSettings(options.threads, options.slots, options.context, options.debug)
    shelf = Shelf(serve(text, settings, clock), _embedding(options, embedding, settings, clock))
    front = Front(shelf, version=engine_version(), clock=clock)
    try:
        address, port = await front.open(options.host, options.port)
        host = f"[{address}]" if ":" in address else address
        line = f"synapse engine: {text.name} on http://{host}:{port}"
        await _until(stopping, _work(shelf, lambda: options.on_ready(line)))
    finally:
        await front.close()
        await shelf.close()
    return 0


async def _embedding(
    options: EngineOptions, given: Model | None, settings: RunnerSettings, clock: Clock
) -> Served | None:
    """The embedding model, prepared if need be; `None` where there is none. Raises EngineError."""
    if given is None:
        source = minilm.find_source()
        if source is None:
            return None
        given = load_embedding_model(await minilm.converted(source, options.state), minilm.NAME)
    return serve(given, settings, clock)


async def _work(shelf: Shelf, on_ready: Callable[[], None]) -> None:
    async with shelf.text.residence.hold(None):
        on_ready()
    await shelf.watch()


async def _until(stopping: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Runs `work` until `stopping` is set. What goes wrong in `work` ends the engine."""
    tasks = (asyncio.create_task(work, name="engine"), asyncio.create_task(_wait(stopping), name="engine-stop"))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _wait(stopping: asyncio.Event) -> None:
    await stopping.wait()
