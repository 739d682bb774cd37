"""The console over a slow line: the bytes that it writes, and how long a ledger of a million rows takes to open.

The daemon, its database and the console are real processes; the terminal is a pty that counts. A machine is not needed.
"""

import argparse
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from appliance.store.migrate import migrate
from scripts.benchmarks.results import percentile, report
from tests.e2e.installation import Installation
from tests.e2e.terminal import Terminal
from tests.store.many_calls import fill

DAYS = 400
IDLE_SECONDS = 30
OPENINGS = 10
QUIET_SECONDS = 1.0
END = "\x1b[F"
UNITS = {"rows": "", "start": "bytes", "idle 30 s": "bytes", "a changed row": "bytes", "another page": "bytes"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--save", action="store_true")
    rows = parser.parse_args().rows
    folder = Path(tempfile.mkdtemp(prefix="synapse-bench-"))
    try:
        state = folder / "state"
        state.mkdir(mode=0o700)
        _fill(state / "synapse.db", rows)
        installation = Installation(state)
        installation.start(ready=503)
        first, second = (installation.json("key", "create", "--name", name)["key"]["id"] for name in ("zz2", "zz1"))
        figures = _measured(installation, (first, second))
        installation.stop()
    finally:
        shutil.rmtree(folder)
    report("console", {"rows": rows, **figures}, unit=UNITS)


def _fill(path: Path, rows: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA synchronous = OFF")
        migrate(conn)
        fill(conn, rows, DAYS)
    os.sync()  # what the filling left to be written is no part of what follows


def _measured(installation: Installation, keys: tuple[str, str]) -> dict[str, float]:
    terminal = Terminal([str(installation.program), "admin"], installation.environ)
    figures: dict[str, float] = {}
    try:
        terminal.until("live")
        terminal.read(QUIET_SECONDS)
        figures["start"] = len(terminal.wrote)
        figures["idle 30 s"] = len(terminal.read(IDLE_SECONDS))
        terminal.type("5")
        terminal.until("NAME")
        terminal.read(QUIET_SECONDS)
        terminal.type(END)
        terminal.until("zz2")
        terminal.read(QUIET_SECONDS)
        for key in keys:  # Textual paints a list once more with the first change after its page was opened
            installation.command("key", "revoke", key)
            figures["a changed row"] = len(terminal.until("revoked") + terminal.read(QUIET_SECONDS))
        figures["another page"], took = _openings(terminal)
        figures |= {"ledger p50": percentile(took, 0.5), "ledger max": max(took)}
    finally:
        terminal.close()
    return figures


def _openings(terminal: Terminal) -> tuple[float, list[float]]:
    """From the key of the ledger to its first line, ms; and the bytes of that."""
    took: list[float] = []
    wrote = b""
    for _ in range(OPENINGS):
        began = time.perf_counter()
        terminal.type("6")
        wrote = terminal.until("▸", step=0.002)
        took.append((time.perf_counter() - began) * 1000)
        wrote += terminal.read(QUIET_SECONDS)
        terminal.type("9")
        terminal.read(QUIET_SECONDS)
    return len(wrote), took


if __name__ == "__main__":
    main()
