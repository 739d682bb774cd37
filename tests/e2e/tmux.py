"""A person at a terminal that tmux plays: keys in, the screen out, on a server of the test's own."""

import asyncio
import re
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

NAMES = {"enter": "Enter", "esc": "Escape", "down": "Down", "up": "Up", "space": "Space", "tab": "Tab", "^s": "C-s"}


class Tmux:
    """`command` runs in a window of `columns` by `lines`. Stop it with `close`."""

    def __init__(
        self, directory: Path, command: Sequence[str | Path], environ: Mapping[str, str], *, size: tuple[int, int]
    ) -> None:
        self._server = ["tmux", "-S", str(directory / "tmux.sock"), "-f", "/dev/null"]
        columns, lines = size
        subprocess.run(
            [*self._server, "new-session", "-d", "-x", str(columns), "-y", str(lines), shlex.join(map(str, command))],
            env={**environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
            check=True,
        )

    def screen(self) -> str:
        shown = subprocess.run([*self._server, "capture-pane", "-p"], capture_output=True, check=True)
        return shown.stdout.decode()

    async def sees(self, *texts: str, seconds: float = 20.0) -> str:
        """Waits until all of these are on the screen, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            screen = await asyncio.to_thread(self.screen)
            missing = [text for text in texts if text not in screen]
            if not missing:
                return screen
            assert time.monotonic() < deadline, f"not on the screen: {missing}\n{screen}"
            await asyncio.sleep(0.05)

    async def press(self, *keys: str) -> None:
        """Each only when the screen says that it can be pressed."""
        for key in keys:
            await self._shown(key)
            await asyncio.to_thread(self._send, NAMES.get(key, key))

    async def type(self, text: str) -> None:
        await asyncio.to_thread(self._send, text, "-l")

    async def run(self, script: str) -> None:
        """A keystroke script: a line each of `see TEXT`, `press KEY`, `type TEXT`; other lines are for people."""
        for line in script.splitlines():
            word, _, rest = line.strip().partition(" ")
            match word:
                case "see":
                    await self.sees(rest)
                case "press":
                    await self.press(rest)
                case "type":
                    await self.type(rest)
                case _:
                    assert not word or word.startswith("#"), line

    def close(self) -> None:
        subprocess.run([*self._server, "kill-server"], check=False, stderr=subprocess.DEVNULL)

    async def _shown(self, key: str) -> None:
        deadline = time.monotonic() + 20
        while not is_shown(key, screen := await asyncio.to_thread(self.screen)):
            assert time.monotonic() < deadline, f"the screen does not show the key {key}:\n{screen}"
            await asyncio.sleep(0.05)

    def _send(self, keys: str, *options: str) -> None:
        subprocess.run([*self._server, "send-keys", *options, keys], check=True)


ARROWS = {"down": "↓", "up": "↑"}


def is_shown(key: str, screen: str) -> bool:
    """Whether the screen names this key: before its label, or in a sentence (`press 5`)."""
    name = re.escape(ARROWS.get(key, key))
    return re.search(rf"(?:^|[\s│(]){name}(?: |:|,)\S?|press {name}\b", screen, re.MULTILINE) is not None
