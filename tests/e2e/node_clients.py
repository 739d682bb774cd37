"""The clients in JavaScript that the tests run, installed once as `node/package-lock.json` says."""

import fcntl
import hashlib
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent / "node"
INSTALLED = FOLDER / "node_modules"
CLAUDE = INSTALLED / "@anthropic-ai/claude-code/bin/claude.exe"
"""Claude Code, which bears this name on every system."""

INSTALL_SECONDS = 300.0


def install() -> None:
    """Install what is not there as the lock says; several processes that want it at once take turns."""
    with (FOLDER / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = hashlib.sha256(lock.read()).hexdigest()
        stamp = INSTALLED / ".synapse"
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        # npm begins with removing all that is there, so that an interrupted install leaves no stamp. Whether it runs
        # the packages' own scripts depends on its version. The one that is needed puts the program of this system in
        # Claude Code's place, and is run by itself.
        _run("npm", "ci", "--ignore-scripts", "--include=optional", "--no-audit", "--no-fund")
        _run("node", str(CLAUDE.parents[1] / "install.cjs"))
        stamp.write_text(wanted)


def _run(*command: str) -> None:
    done = subprocess.run(
        command, cwd=FOLDER, capture_output=True, text=True, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
