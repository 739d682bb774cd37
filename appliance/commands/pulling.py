"""`synapse model pull`: a machine fetches a model, and whoever asked watches. The pull is the daemon's: it goes on when
nobody does."""

import asyncio
import os
import shlex
from contextlib import suppress
from typing import TextIO

from appliance.admin import looks
from appliance.admin.client import Client
from appliance.admin.pull_wire import NewPull, Pull
from appliance.admin.wire import InvalidInput, UnknownSubject, encode
from appliance.commands import text
from appliance.commands.outcome import DONE, FAILED, Outcome
from appliance.errors import AdminError

LOOK_SECONDS = 0.5


class Meter:
    """How a pull goes, on `stream`: one line drawn anew where it is a terminal of so many `columns`, else a line
    whenever the machine does something else."""

    def __init__(self, stream: TextIO, columns: int | None) -> None:
        self._stream = stream
        self._columns = columns
        self._shown = ""

    def show(self, pull: Pull) -> None:
        line = said(pull) if self._columns is not None else looks.printable(pull.status)
        if not line or line == self._shown:
            return
        self._shown = line
        if self._columns is None:
            self._write(f"{line}\n")
        else:  # the last column stays free: some terminals would begin another line
            self._write(f"\r{text.fit(line, self._columns - 1)}")

    def close(self) -> None:
        """What is written next begins on a line of its own."""
        if self._shown and self._columns is not None:
            self._write("\n")
        self._shown = ""

    def note(self, sentence: str) -> None:
        self.close()
        self._write(f"{looks.printable(sentence)}\n")

    def _write(self, written: str) -> None:
        with suppress(OSError):  # nobody reads any more, which is no reason to stop
            self._stream.write(written)
            self._stream.flush()


def columns_of(stream: TextIO) -> int | None:
    """Of the terminal that it is; None where it is none."""
    if not stream.isatty():
        return None
    with suppress(OSError):
        return os.get_terminal_size(stream.fileno()).columns or text.WIDTH
    return text.WIDTH


def said(pull: Pull) -> str:
    """How far it is, and what it does: `42 %  2.1 GB of 5.2 GB  pulling 2bada8a74506`."""
    status = looks.printable(pull.status)
    return f"{_far(pull)}  {status}" if pull.total else status


async def pull(
    client: Client, name: str, node: str | None, meter: Meter, *, look_seconds: float = LOOK_SECONDS
) -> Outcome:
    """Start it, or find it running, and watch it to its end."""
    made = await client.start_pull(NewPull(name, node))
    meter.note(f"{made.node} pulls {made.name}. Ctrl-C stops watching, and it goes on.")
    try:
        while made.state == "running":
            meter.show(made)
            await asyncio.sleep(look_seconds)
            made = await _again(client, made)
    except asyncio.CancelledError:
        meter.note(f"{made.node} goes on. To watch it again: {_command(name, node)}")
        raise
    finally:
        meter.close()
    return _outcome(made)


async def cancel(client: Client, name: str, node: str | None) -> Outcome:
    """End it. Raises UnknownSubject: nothing like it runs."""
    named = None if node is None else node.removeprefix("syn-")
    found = [
        one
        for one in (await client.pulls()).pulls
        if one.state == "running"
        and one.name.removesuffix(":latest") == name.removesuffix(":latest")
        and (named is None or one.node == node or one.node_id.startswith(named))
    ]
    if not found:
        raise UnknownSubject(f'No machine is pulling "{name}" now.', advice="synapse model list shows what is.")
    if len(found) > 1:
        names = ", ".join(one.node for one in found)
        raise InvalidInput(f"{len(found)} machines pull {name}: {names}.", advice="Say which: --node NAME.")
    ended = await client.cancel_pull(found[0].id)
    return Outcome(encode(ended), (looks.printable(f"{ended.node} does not pull {ended.name} any more."),))


async def running(client: Client) -> tuple[str, ...]:
    """A sentence for each that runs."""
    told = [
        f"{one.node} is pulling {one.name}: {_far(one) if one.total else one.status or 'it begins'}"
        for one in (await client.pulls()).pulls
        if one.state == "running"
    ]
    return tuple(line for sentence in told for line in text.wrapped(looks.printable(sentence)))


def _far(pull: Pull) -> str:
    return f"{pull.completed * 100 // pull.total} %  {looks.size(pull.completed)} of {looks.size(pull.total)}"


async def _again(client: Client, made: Pull) -> Pull:
    for one in (await client.pulls()).pulls:
        if one.id == made.id:
            return one
    raise AdminError(
        f"The daemon knows nothing of the pull of {made.name} any more: it was started anew.",
        advice="Run the same command again: what has come so far is not fetched twice.",
    )


def _command(name: str, node: str | None) -> str:
    return shlex.join(("synapse", "model", "pull", name, *(() if node is None else ("--node", node))))


def _outcome(ended: Pull) -> Outcome:
    match ended.state:
        case "done":
            return Outcome(encode(ended), (looks.printable(f"{ended.node} has {ended.name} now."),), code=DONE)
        case "cancelled":
            why = AdminError(f"The pull of {ended.name} on {ended.node} was cancelled.")
        case _:
            why = AdminError(f"{ended.node} did not get {ended.name}. {ended.problem}", advice=ended.advice)
    return Outcome(encode(ended), notes=(looks.printable(str(why)),), code=FAILED)
