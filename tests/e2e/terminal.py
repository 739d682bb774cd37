"""A program in a terminal of its own: what it writes is counted and kept, what a person types is sent to it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence


class Terminal:
    """`wrote` is everything that came so far. Nothing answers the questions that a program asks a terminal."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], *, columns: int = 80, lines: int = 24
    ) -> None:
        self._master, slave = pty.openpty()
        self.resize(columns, lines, signal_it=False)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**environ, "TERM": "xterm-256color"},
            start_new_session=True,
        )
        self._slave = slave
        self.wrote = b""

    def resize(self, columns: int, lines: int, *, signal_it: bool = True) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if signal_it:
            os.kill(self.process.pid, signal.SIGWINCH)

    def read(self, seconds: float) -> bytes:
        """All that is written within this time."""
        began, deadline = len(self.wrote), time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                try:
                    self.wrote += os.read(self._master, 65_536)
                except OSError:  # nobody has the other end any more
                    break
        return self.wrote[began:]

    def until(self, text: str, seconds: float = 20.0, *, step: float = 0.05) -> bytes:
        """What is written from now on until this comes, with it and whatever follows at once."""
        began, deadline = len(self.wrote), time.monotonic() + seconds
        while text.encode() not in self.wrote[began:]:
            assert time.monotonic() < deadline, f"{text!r} did not come:\n{self.wrote[began:]!r}"
            self.read(step)
        return self.wrote[began:]

    def type(self, text: str) -> None:
        self.send(text.encode())

    def send(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def settings(self) -> list[object]:
        """Of the terminal: whether it echoes, and what its keys mean."""
        return termios.tcgetattr(self._slave)

    def drag(self, text: str) -> None:
        """Make the window larger, step by step as a person drags it, until this is in it."""
        for step in range(10):
            self.resize(111 + step, 31 + step)
            self.read(1)
            if text.encode() in self.wrote:
                return
        raise AssertionError(f"{text!r} did not come:\n{self.wrote[-2000:]!r}")

    def hang_up(self) -> None:
        """The terminal is gone. No signal is sent, as it is to nobody in particular where nobody has it for its own."""
        os.close(self._slave)
        os.close(self._master)

    def close(self) -> int:
        """End the program where it still runs; its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(10)
        os.close(self._slave)
        os.close(self._master)
        return code
