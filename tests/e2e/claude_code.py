"""Claude Code without a terminal, in a home of its own that holds nothing."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.node_clients import CLAUDE

SECONDS = 60.0
MODEL = "pulse-agent"


@dataclass(frozen=True)
class Ran:
    code: int
    said: str
    errors: str


class ClaudeCode:
    """It works in `work`, and calls `base` with `key`."""

    def __init__(self, folder: Path, base: str, key: str) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        for made in (self.home, self.work):
            made.mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": base,
            "ANTHROPIC_AUTH_TOKEN": key,
            "ANTHROPIC_MODEL": MODEL,
            # By each of these names it would ask for a model of its maker's.
            **{f"ANTHROPIC_DEFAULT_{tier}_MODEL": MODEL for tier in ("OPUS", "SONNET", "HAIKU")},
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",  # a failure is to be seen, not made up for
        }

    async def run(self, prompt: str, *options: str, seconds: float = SECONDS) -> Ran:
        """One task from its start to its end, in `-p`'s way, within so many seconds."""
        process = await asyncio.create_subprocess_exec(
            CLAUDE, "-p", prompt, *options,
            cwd=self.work, env=self.environ, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(seconds):
                said, errors = await process.communicate()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        assert process.returncode is not None
        return Ran(process.returncode, said.decode(), errors.decode())
