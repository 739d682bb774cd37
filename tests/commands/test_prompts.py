import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.commands.prompts import interruptible

ROOT = Path(__file__).resolve().parents[2]
ASKS = """
import asyncio, sys
from appliance.commands.prompts import interruptible

async def ask():
    with interruptible():
        print("asked", flush=True)
        sys.stdin.readline()

asyncio.run(ask())
"""


@pytest.fixture
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_one_interrupt_ends_a_prompt_under_an_event_loop():
    """asyncio's own handler would go on waiting for the line, and end at a second one alone."""
    asking = subprocess.Popen(
        [sys.executable, "-c", ASKS],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with asking:
        try:
            assert asking.stdout is not None
            assert asking.stderr is not None
            assert asking.stdout.readline() == "asked\n"
            asking.send_signal(signal.SIGINT)
            assert asking.wait(timeout=10) == -signal.SIGINT  # its standard input is still open
            assert asking.stderr.read().rstrip().endswith("KeyboardInterrupt")
        finally:
            asking.kill()


@pytest.mark.usefixtures("handler")
def test_the_handler_before_is_there_again():
    def own(*_: object) -> None:
        raise AssertionError

    signal.signal(signal.SIGINT, own)
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is own


@pytest.mark.usefixtures("handler")
def test_where_it_is_ignored_it_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_in_another_thread_nothing_is_set():
    done: list[bool] = []

    def ask() -> None:
        before = signal.getsignal(signal.SIGINT)
        with interruptible():
            done.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert done == [True]
