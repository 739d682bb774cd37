"""What was typed, where and when, and a command that asks the running daemon.

Imports nothing heavy: what a command needs is imported when it is called.
"""

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.commands.outcome import Outcome
from appliance.ids import Clock

if TYPE_CHECKING:
    from appliance.admin.client import Client
    from appliance.settings import Settings


@dataclass(frozen=True, slots=True)
class Invocation:
    """What was typed, where and when."""

    typed: Namespace
    environ: Mapping[str, str]
    clock: Clock

    def settings(self) -> "Settings":
        from appliance.settings import load

        return load(self.config, self.environ)

    @property
    def config(self) -> Path | None:
        """The settings file that was named."""
        named: str | None = self.typed.config
        return None if named is None else Path(named)


def online(do: Callable[["Client", Invocation], Awaitable[Outcome]]) -> Callable[[Invocation], Outcome]:
    """A command that asks the running daemon."""

    async def ask(call: Invocation) -> Outcome:
        from appliance.admin.client import Client

        async with Client(call.settings().admin.socket) as client:
            return await do(client, call)

    def run(call: Invocation) -> Outcome:
        import asyncio

        return asyncio.run(ask(call))

    return run
