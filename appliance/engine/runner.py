"""llama.cpp seen from the engine: starts and stops the child process, and asks it things over its Unix socket.

The child crashes or is unloaded alone; the next `start` makes a new one. `start` and `stop` have one caller at a time
(`residence`). It must not know Ollama's wire.
"""

import asyncio
import contextlib
import json
import secrets
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import aiohttp

from appliance.engine import child, llama
from appliance.engine.llama import Event, Prompt, RunnerFailed
from appliance.engine.llama_chat import ChatReader
from appliance.engine.models import Model
from appliance.engine.requests import Message
from appliance.engine.tools import Tool
from appliance.engine.turns import Slot, Turns
from appliance.errors import EngineError

SOCKET_PATH_LIMIT = 100
"""Bytes of a Unix socket's path that every system takes; Linux takes 107."""
LINE_BUFFER = 2**20
"""Bytes of one event. The longest carries the log probabilities of a token's 20 alternatives: a few kilobytes."""
LARGE_BODY = 2**16
"""Bytes of a request for a prompt or its tokens, of which llama.cpp gets one at a time: some 50 ms of work, or 2 s of
400 kB that are written to be slow."""
SHORT_PROMPT = 4 * child.BATCH_TOKENS
"""Tokens of a prompt that are read in one go: they hold up others by a second, and every piece costs a request."""
STOP_PATIENCE = 0.5
"""Seconds that the child has to end by itself before it is killed. While it loads a model it cannot."""

MEAN_POOLING = 1
"""llama.cpp's number for the mean of all tokens: for a model that would give one embedding a token."""

_GONE = "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error"
_URL = "http://runner"
"""A name for the Host header; the connection goes to the socket."""


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """`context` is tokens per slot. With `verbose`, llama.cpp's own log goes to this process's stderr."""

    threads: int
    slots: int
    context: int
    verbose: bool


@dataclass(slots=True)
class _Life:
    """One child process from start to end."""

    process: Process
    directory: Path
    session: aiohttp.ClientSession
    lost: bool = False
    """A request found it gone, which is known before the system reports the end of the process."""


class Runner:
    def __init__(self, model: Model, settings: RunnerSettings) -> None:
        self._model = model
        self._settings = settings
        self._life: _Life | None = None
        self._turns = Turns(settings.slots)
        self._alone = asyncio.Semaphore(1)
        self._large: asyncio.Task[dict[str, object]] | None = None

    @property
    def alive(self) -> bool:
        return self._life is not None and not self._life.lost and self._life.process.returncode is None

    @property
    def busy(self) -> bool:
        """Whether a large question is with llama.cpp, wanted or not."""
        return self._alone.locked()

    @property
    def memory(self) -> int:
        """Bytes of memory that the child takes, or the size of the model where the system does not tell."""
        if self._life is None:
            return 0
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self._life.process.pid}/status").read_text(encoding="ascii").splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return self._model.size

    async def start(self) -> None:
        """Loads the model unless it is loaded. Raises EngineError if llama.cpp cannot."""
        if self.alive:
            return
        await self.stop()
        directory = Path(tempfile.mkdtemp(prefix="synapse-engine-"))
        try:
            self._life = await self._born(directory)
            self._turns.forget()
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise

    async def stop(self) -> None:
        """Ends the child and what is running in it. Does nothing if there is none."""
        life, self._life = self._life, None
        if life is not None:
            try:
                await _end(life.process)
            finally:
                await life.session.close()
                shutil.rmtree(life.directory, ignore_errors=True)

    async def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Prompt:
        """The prompt that the model's chat template makes of `messages` and `tools`."""
        rendered = await self._ask("/apply-template", llama.template_body(messages, tools))
        text = cast("str", rendered["prompt"])
        return Prompt(text, await self.tokenize(text), tuple(messages))

    async def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        """The tokens of `text`; with `special`, those that the model wants around it too."""
        return cast("list[int]", (await self._ask("/tokenize", llama.tokenize_body(text, special=special)))["tokens"])

    async def detokenize(self, tokens: Sequence[int]) -> str:
        return cast("str", (await self._ask("/detokenize", llama.detokenize_body(tokens)))["content"])

    async def embed(self, inputs: Sequence[Sequence[int]]) -> list[list[float]]:
        """The embeddings of texts given as tokens, after waiting for a turn. Raises Refused, RunnerFailed."""
        async with self._turns.take(()), self._post("/v1/embeddings", llama.embeddings_body(inputs)) as response:
            return llama.parse_embeddings(await response.read())

    async def generate(self, body: bytes, tokens: Sequence[int], *, alternatives: int = 0) -> AsyncGenerator[Event]:
        """Streams one completion, whose prompt is `tokens`, after waiting for a free slot.

        Closing the generator cancels it in llama.cpp. Raises Refused if llama.cpp turns the request down, RunnerFailed
        if the child dies before the end.
        """
        async with self._turns.take(tokens) as slot:
            before = await self._read(tokens, slot)
            async with self._post("/completion", llama.in_slot(body, slot.number)) as response:
                async for line in response.content:
                    event = llama.parse_event(line, alternatives=alternatives)
                    if isinstance(event, llama.End):
                        slot.keeps(tokens, event.answer_tokens)
                        yield event.after(before)
                        return
                    if event is not None:
                        yield event
        raise RunnerFailed(_GONE)

    async def chat(self, body: bytes, tokens: Sequence[int], reader: ChatReader) -> AsyncGenerator[Event]:
        """Streams one chat in which llama.cpp itself finds the calls of tools; else like `generate`."""
        async with self._turns.take(tokens) as slot:
            before = await self._read(tokens, slot)
            async with self._post("/v1/chat/completions", llama.in_slot(body, slot.number)) as response:
                async for line in response.content:
                    for event in reader.feed(line):
                        if isinstance(event, llama.End):
                            slot.keeps(tokens, event.answer_tokens)
                            yield event.after(before)
                            return
                        yield event
        raise RunnerFailed(_GONE)

    async def _read(self, tokens: Sequence[int], slot: Slot) -> int:
        """Lets llama.cpp read all but the last batch of a prompt, and returns the nanoseconds that it took.

        llama.cpp fills its batches from the first slot that has a prompt left, so that a long one would hold up all
        others to its end. A request for each batch lets theirs in between.
        """
        took = 0
        known = slot.known(tokens)
        if len(tokens) - known <= SHORT_PROMPT:
            return took
        for end in range(known + child.BATCH_TOKENS, len(tokens), child.BATCH_TOKENS):
            async with self._post("/completion", llama.in_slot(llama.prompt_body(tokens[:end]), slot.number)) as read:
                events = [llama.parse_event(line) async for line in read.content]
            took += sum(event.prompt_ns for event in events if isinstance(event, llama.End))
            slot.keeps(tokens[:end])
        return took

    async def _ask(self, path: str, body: bytes) -> dict[str, object]:
        """One answer of JSON. What is large waits until llama.cpp has done with the large one before.

        llama.cpp has few threads for it and goes on after the client has left, so the place is kept until it is done.
        """
        if len(body) <= LARGE_BODY:
            return await self._answer(path, body)
        await self._alone.acquire()
        self._large = asyncio.create_task(self._answer(path, body), name="engine-large")
        self._large.add_done_callback(self._done)
        return await asyncio.shield(self._large)

    def _done(self, work: "asyncio.Task[dict[str, object]]") -> None:
        self._alone.release()
        if not work.cancelled():
            work.exception()  # whoever asked has it, unless they left

    async def _answer(self, path: str, body: bytes) -> dict[str, object]:
        async with self._post(path, body) as response:
            return cast("dict[str, object]", await response.json())

    @contextlib.asynccontextmanager
    async def _post(self, path: str, body: bytes) -> AsyncGenerator[aiohttp.ClientResponse]:
        life = self._life
        if life is None:
            raise RunnerFailed(_GONE)
        try:
            async with life.session.post(_URL + path, data=body) as response:
                if response.status >= 400:
                    raise llama.refused(response.status, await response.read())
                yield response
        except (aiohttp.ClientError, ConnectionError):
            life.lost = True
            raise RunnerFailed(_GONE) from None

    async def _born(self, directory: Path) -> _Life:
        socket = directory / "llama.sock"
        if len(bytes(socket)) > SOCKET_PATH_LIMIT:
            raise EngineError(
                f"The path {socket} is too long for a Unix socket.", advice="Set TMPDIR to a shorter one."
            )
        setup = child.Setup(
            model=str(self._model.path),
            template=self._model.template,
            socket=str(socket),
            key=secrets.token_urlsafe(32),
            threads=self._settings.threads,
            slots=self._settings.slots,
            context=self._settings.context,
            verbose=self._settings.verbose,
            embedding=self._model.embeds,
            pooling=self._model.pooling or MEAN_POOLING,
        )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", child.__file__),
            stdin=PIPE,
            stdout=PIPE,
            stderr=None if self._settings.verbose else DEVNULL,
        )
        try:
            await self._wait_until_ready(process, setup)
        except BaseException:
            await _end(process)
            raise
        return _Life(process, directory, self._session(socket, setup.key))

    async def _wait_until_ready(self, process: Process, setup: child.Setup) -> None:
        assert process.stdin is not None  # noqa: S101  asked for above
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(setup.line())
        reply = await process.stdout.readline()
        if not reply or "error" in json.loads(reply):
            raise EngineError(
                f"llama.cpp cannot load {self._model.path}.",
                advice="Is it a whole model, and is there memory for it?",
            )

    def _session(self, socket: Path, key: str) -> aiohttp.ClientSession:
        """A connection per request: llama.cpp keeps a thread for each open one, and has no more threads than these."""
        threads = self._settings.slots + child.SPARE_HTTP_THREADS
        return aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(str(socket), limit=threads, force_close=True),
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=LINE_BUFFER,
        )


async def _end(process: Process) -> None:
    """Closes the child's stdin, which ends it, and kills it if that takes too long."""
    assert process.stdin is not None  # noqa: S101  asked for when it was started
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), STOP_PATIENCE)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
