"""Whether Claude Code waits for a first token that takes 6 minutes, and sends its call only once.

It cuts a stream that brought no content for 5 minutes and sends the call again, so that a machine would do the work
twice; what the gateway says meanwhile has to keep it waiting. The model is a double of Ollama. Takes the 6 minutes.
"""

import asyncio
import tempfile
import time
from pathlib import Path

from scripts.benchmarks.results import report
from tests.e2e.claude_code import ClaudeCode
from tests.e2e.installation import Installation
from tests.e2e.node_clients import install
from tests.upstreams.ollama import done, line, ollama_double, says

FIRST_TOKEN_SECONDS = 360.0
PATIENCE_SECONDS = FIRST_TOKEN_SECONDS + 60


async def main() -> None:
    install()
    folder = Path(tempfile.mkdtemp(prefix="synapse-bench-"))
    slow = says(FIRST_TOKEN_SECONDS, line("Here"), line(" at last."), done(prompt=20_000))
    async with ollama_double(default=slow, capabilities=["completion", "tools"], context_length=131_072) as double:
        made = Installation(folder / "state", double.url)
        await asyncio.to_thread(made.start)
        try:
            claude = ClaudeCode(folder, made.base, made.key)
            claude.environ["CLAUDE_CODE_MAX_RETRIES"] = "3"
            began = time.monotonic()
            ran = await claude.run("Say something.", seconds=PATIENCE_SECONDS)
            took = time.monotonic() - began
        finally:
            await asyncio.to_thread(made.stop)
        assert (ran.code, ran.said.strip()) == (0, "Here at last."), ran
        figures = {"first token after": FIRST_TOKEN_SECONDS, "answer after": took, "calls": float(len(double.received))}
    report("patience", figures, unit={"first token after": "s", "answer after": "s", "calls": ""})
    assert figures["calls"] == 1, "the call was sent again"


if __name__ == "__main__":
    asyncio.run(main())
