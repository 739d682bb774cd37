"""A model is fetched onto one machine by its own Ollama: asked for over the machine's link, and told line by line.

Knows the wire and its faults. Who wants the model, and what becomes of the pull, is decided elsewhere.
Source: "Pull a Model" in Ollama's docs/api.md; `server/images.go` and `server/download.go` of Ollama 0.33; recorded
answers.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass

import aiohttp

from appliance.cluster.agent.forwarding import CONSOLE_HEADER
from appliance.cluster.asking import count, is_name, no_answer
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine
from appliance.dialects.jsonobject import json_object
from appliance.dialects.ollama.errors import error_text, sentence
from appliance.errors import SynapseError
from appliance.lanes.limits import MAX_ERROR_BYTES
from appliance.lanes.lines import Lines, LineTooLong

IDLE_SECONDS = 1800.0
"""Ollama speaks 16 times a second while it downloads, and not at all while it hashes what came: half an hour is 270 GB
on a slow disk. A machine that is gone is noticed long before, by its connection."""

MAX_LINE_BYTES = 64 * 1024
"""Of one line of progress, where an honest one has some 200."""

MAX_LAYERS = 1_000
"""Files that one model is made of; a large one has some ten."""

MAX_LAYER_BYTES = 2**50
"""Of one such file. What is larger is no size, and the sum of all stays below 64 bits."""

_AGAIN = "`synapse node list` says how the machine is. Pull again: what has come so far is not fetched twice."

_CHECK = "Check the model's name, whether the machine can reach where it comes from, and its disk."


class PullFailed(SynapseError):
    """The machine does not get the model."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`status` is as the machine says it: any text. `completed` of `total` bytes, 0 while no size is known."""

    status: str
    completed: int
    total: int


class Puller:
    """`connect_seconds`: for a connection to be made; `idle_seconds`: how long a machine may say nothing."""

    def __init__(self, links: Links, *, connect_seconds: float, idle_seconds: float = IDLE_SECONDS) -> None:
        self._links = links
        self._idle = idle_seconds
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_seconds, sock_read=idle_seconds)

    async def pull(self, machine: Machine, name: str) -> AsyncGenerator[Progress, None]:
        """How it goes, as often as the machine tells; the model is there when this ends.

        Closing the generator closes the connection, which makes Ollama stop.

        Raises:
            PullFailed: it is not there.
        """
        response = await self._ask(machine, name)
        try:
            if response.status != 200:
                raise _refused(response.status, await self._error(response))
            lines, told = Lines(MAX_LINE_BYTES), _Told()
            while not told.done and (chunk := await self._read(response)):
                try:
                    told.take(lines.feed(chunk))
                except LineTooLong as error:
                    raise _broke("it sent a line without an end") from error
                # Once a chunk, however many lines it holds: what is overtaken interests nobody.
                yield told.progress
            if not told.done:
                raise _broke("its answer ended before the model was there")
        finally:
            response.release()  # closes the connection too, unless the answer was read to its end

    async def _ask(self, machine: Machine, name: str) -> aiohttp.ClientResponse:
        try:
            link = self._links.of(machine)
            return await link.session.post(
                f"{machine.url}/api/pull",
                json={"model": name, "stream": True},
                headers={**link.headers, **_as_console(machine)},
                timeout=self._timeout,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as error:  # OSError: TimeoutError too
            why = no_answer(error, unlike="its answer cannot be read")
            raise PullFailed(f"The machine does not answer: {why}.", advice=_AGAIN) from error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The next chunk, empty at the end."""
        try:
            return await response.content.readany()
        except TimeoutError as error:
            raise _broke(f"it said nothing for {self._idle:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _broke("the connection broke") from error

    async def _error(self, response: aiohttp.ClientResponse) -> bytes:
        body = b""
        while len(body) < MAX_ERROR_BYTES and (chunk := await self._read(response)):
            body += chunk
        return body[:MAX_ERROR_BYTES]


class _Told:
    """What the lines of one answer come to."""

    def __init__(self) -> None:
        self.done = False
        self._status = ""
        self._layers: dict[str, tuple[int, int]] = {}

    @property
    def progress(self) -> Progress:
        sizes = self._layers.values()
        return Progress(self._status, sum(done for done, _ in sizes), sum(total for _, total in sizes))

    def take(self, lines: Iterable[bytes]) -> None:
        """Raises PullFailed for an error that the machine tells, and for what is no progress."""
        for line in lines:
            fields = json_object(line)
            if fields is None:
                raise _broke("it sent a line that is not a JSON object")
            if fields.get("error") is not None:
                raise _said(sentence(fields["error"]))
            self._take(fields)

    def _take(self, fields: Mapping[str, object]) -> None:
        status, digest = fields.get("status"), fields.get("digest")
        if isinstance(status, str):
            self._status = status
        self.done = status == "success"
        if isinstance(digest, str) and is_name(digest):
            total = _size(fields.get("total"))
            self._layers[digest] = (min(_size(fields.get("completed")), total), total)
            if len(self._layers) > MAX_LAYERS:
                raise _broke("it names more files than a model is made of")


def _size(value: object) -> int:
    size = count(value)
    return size if size <= MAX_LAYER_BYTES else 0


def _as_console(machine: Machine) -> Mapping[str, str]:
    """What a node agent wants to be told before it lets a pull through."""
    return {CONSOLE_HEADER: "1"} if machine.trust == "pinned" else {}


def _refused(status: int, body: bytes) -> PullFailed:
    if status == 404:
        return PullFailed(
            "The engine of this machine cannot fetch models.",
            advice="The embedded engine has those that it was started with: run Ollama in its place, or give it a"
            " file with `synapse engine --model`.",
        )
    text = error_text(body)
    return _said(text) if text else PullFailed(f"The machine answers with status {status}.", advice=_CHECK)


def _said(text: str) -> PullFailed:
    return PullFailed(f"The machine says: {text}", advice=_CHECK)


def _broke(how: str) -> PullFailed:
    return PullFailed(f"The machine broke off: {how}.", advice=_AGAIN)
