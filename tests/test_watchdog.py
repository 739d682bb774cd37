import asyncio
import os
import socket
import time

import pytest

from appliance.errors import StorageUnavailable
from appliance.notify import Notifier
from appliance.tasks import Tasks
from appliance.watchdog import PARTS, watch
from tests.waiting import until


async def nothing() -> None:
    return


async def test_it_says_so_after_each_trial():
    said, tasks = list[int](), Tasks()
    tasks.spawn("watchdog", watch(0.03, nothing, lambda: said.append(1)))
    await until(lambda: len(said) >= 3)
    await tasks.cancel()


async def test_a_trial_that_fails_or_does_not_end_says_nothing_and_the_next_may(caplog: pytest.LogCaptureFixture):
    said, tasks, tried = list[int](), Tasks(), list[int]()

    async def trial() -> None:
        tried.append(1)
        if len(tried) == 1:
            raise StorageUnavailable("the disk is gone")
        if len(tried) == 2:
            await asyncio.Event().wait()

    tasks.spawn("watchdog", watch(0.03, trial, lambda: said.append(len(tried))))
    await until(lambda: bool(said))
    assert said[0] == 3
    assert [line.split(": ")[1] for line in caplog.messages[:2]] == ["StorageUnavailable", "TimeoutError"]
    await tasks.cancel()


async def test_a_loop_that_hangs_is_not_heard():
    """With a real socket: nothing comes while the loop is blocked, and it is heard again after."""
    address = f"@synapse-watchdog-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address.replace("@", "\0"))
        systemd.setblocking(False)
        tasks, seconds = Tasks(), 0.06
        tasks.spawn("watchdog", watch(seconds, nothing, Notifier(address).alive))

        def heard() -> int:
            count = 0
            while True:
                try:
                    assert systemd.recv(64) == b"WATCHDOG=1"
                except BlockingIOError:
                    return count
                count += 1

        await until(lambda: heard() > 0)
        heard()
        time.sleep(seconds * 3)  # noqa: ASYNC251  this is the loop that hangs
        assert heard() == 0
        await until(lambda: heard() > 0)
        await tasks.cancel()


def test_two_trials_may_be_lost():
    assert PARTS >= 3
