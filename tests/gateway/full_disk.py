"""What happens to calls when the disk is full, on a real file system of a few megabytes.

Run by test_full_disk.py in a mount namespace of its own, with a directory that the file system is mounted on.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.box import Box, box
from tests.upstreams.ollama import done, line, ollama_double, says
from tests.waiting import until

DISK = "16m"
MESSAGES = {"model": "pulse-auto", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}


async def main(disk: Path) -> None:
    async with ollama_double() as double, box(disk / "state", double.url) as gateway:
        assert (await gateway.chat()).status_code == 200
        assert await storage(gateway) == (200, "ok")

        # Not a byte left; and room for an intent or two, but not for what ends a call: the first one finds it out.
        for left in (0, 16 * 1024):
            fill(disk, left)
            if left:
                assert (await gateway.chat()).status_code == 503
            asked = len(double.received)
            for answer in (
                await gateway.chat(),
                await gateway.chat(stream=True),
                await gateway.http.post("/v1/messages", json=MESSAGES),
            ):
                assert answer.status_code == 503, answer.text
                assert "storage_unavailable" in answer.text or "could not be recorded" in answer.text, answer.text
            assert len(double.received) == asked, "a model was asked for a call that nobody could record"
            for _ in range(4):
                status, said = await storage(gateway)
                assert status == 503, said
                assert "disk is full" in said, said
            assert (await gateway.http.get("/healthz")).status_code == 200
            free(disk)
            assert (await storage(gateway))[0] == 503  # the write that finds room is this one's own
            assert await storage(gateway) == (200, "ok")
            assert len(double.received) == asked
            assert (await gateway.chat()).status_code == 200

        # A call that is under way when the disk fills: no answer without evidence, and the evidence comes by itself.
        goes_on = asyncio.Event()
        double.scripts.append(says(line("Hello"), goes_on, done()))
        asked = len(double.received)
        call = asyncio.create_task(gateway.chat())
        await until(lambda: len(double.received) > asked)
        fill(disk, 0)
        goes_on.set()
        answer = await call
        assert answer.status_code == 503, answer.text
        free(disk)
        proof_id = answer.headers["x-pulse-proof"]
        async with asyncio.timeout(10):
            while (await gateway.http.get(f"/v1/proofs/{proof_id}")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        certificate, row = await gateway.certificate(proof_id), await gateway.ledger(proof_id)
        assert certificate["response"]["ending"] == row.ending == "failed"
        assert await storage(gateway) == (200, "ok")


async def storage(gateway: Box) -> tuple[int, str]:
    """Readiness: its status, and what it says of the storage."""
    ready = await gateway.http.get("/readyz")
    return ready.status_code, ready.json()["checks"]["storage"]


def fill(disk: Path, left: int) -> None:
    """Take the room that there is, but for so many bytes."""
    with (disk / "filling").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            file.truncate(file.tell() - left)


def free(disk: Path) -> None:
    (disk / "filling").unlink()


if __name__ == "__main__":
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", sys.argv[1]], check=True)
    asyncio.run(main(Path(sys.argv[1])))
    print("all as it should be")
