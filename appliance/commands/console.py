"""`synapse admin`: starts the console, and lends it what only this side has: verification and the ledger's CSV."""

import os
import sys
from pathlib import Path

from appliance.admin.client import Client
from appliance.commands import ledger
from appliance.commands.outcome import Outcome
from appliance.errors import AdminError
from appliance.proofs import verify as offline
from appliance.times import utc_now
from tui.app import Console
from tui.tools import Step, Tools, Verdict


async def run(socket: Path, *, mouse: bool) -> Outcome:
    """Until the person leaves.

    Raises:
        AdminError: there is no terminal.
    """
    # Textual draws on stderr.
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise AdminError("The console needs a terminal.", advice="Over SSH: ssh -t HOST synapse admin.")
    for name in ("COLUMNS", "LINES"):  # where they are exported, Textual would hold the window at that size
        os.environ.pop(name, None)
    async with Client(socket) as client:
        tools = Tools(verify=verdict, export=ledger.export, now=utc_now)
        console = Console(client, tools)
        await console.run_async(mouse=mouse)
        return Outcome(code=console.return_code or 0)


def verdict(name: str, certificate: bytes, keys: bytes) -> Verdict:
    """Check a certificate's file as `synapse proof verify` does."""
    report = offline.verify({name: certificate}, keys)
    steps = tuple(Step(check.name, check.status, check.text) for check in report.checks)
    return Verdict(steps, report.exit_code == 0, report.statement)
