"""A shell at a terminal of its own, into which keys are typed."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from pathlib import Path

SECONDS = 20.0

START = {
    "bash": ("bash", "--noprofile", "--rcfile", "{rc}", "-i"),
    "zsh": ("zsh", "-i"),
    "fish": ("fish", "--no-config", "-i", "-C", "source {rc}"),
}

BEFORE = {
    "bash": "PS1='ready> '\nbind 'set enable-bracketed-paste off'\n",
    "zsh": "autoload -Uz compinit\ncompinit -u -D\nPS1='ready> '\nunsetopt prompt_sp prompt_cr\n",
    "fish": "function fish_prompt; echo -n 'ready> '; end\n",
}

SHOWING = {
    # What the program would be given, each word between marks; the completion asks the real one.
    "bash": "synapse() { printf 'given:'; printf '<%s>' \"$@\"; echo; }\n",
    "zsh": "synapse() { printf 'given:'; printf '<%s>' \"$@\"; echo }\n",
    "fish": "function synapse; printf 'given:'; printf '<%s>' $argv; echo; end\n",
}


class Shell:
    """An interactive one, with a completion script in force, in which `synapse` shows what it is given."""

    def __init__(self, name: str, script: str, folder: Path, environ: dict[str, str]) -> None:
        rc = folder / ".zshrc"
        rc.write_text(BEFORE[name] + script + SHOWING[name])
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [word.format(rc=rc) for word in START[name]],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={**environ, "HOME": str(folder), "ZDOTDIR": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"},
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(theirs)
        self._said = b""
        self._wait(b"ready> ")

    def run(self, keys: str) -> str:
        """Type a line in which there are tabs; what the program is then given."""
        self._said = b""
        os.write(self._ours, keys.encode() + b"\r")
        self._wait(b"given:")
        self._wait(b"ready> ", after=b"given:")
        return self._said.partition(b"given:")[2].decode().splitlines()[0]

    def close(self) -> None:
        self._process.kill()
        self._process.wait(10)
        os.close(self._ours)

    def _wait(self, text: bytes, after: bytes = b"") -> None:
        deadline = time.monotonic() + SECONDS
        while text not in self._said.partition(after)[2] if after else text not in self._said:
            assert time.monotonic() < deadline, self._said
            if select.select([self._ours], [], [], 0.1)[0]:
                self._said += os.read(self._ours, 65536)


def _own_terminal() -> None:
    """Runs in the child: its standard input is the terminal that controls it, without which fish does not start."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
