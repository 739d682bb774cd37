import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from appliance.calls import backlog as module
from appliance.calls.backlog import Backlog
from appliance.store.database import Database
from tests.box import Box
from tests.waiting import until


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path / "synapse.db")
    yield opened
    await opened.close()


class Ending:
    """An ending that the storage refuses the first times."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.written = 0
        self.told: list[int] = []

    def tell(self) -> None:
        self.told.append(self.written)

    def __call__(self, conn: sqlite3.Connection) -> None:
        if self.refusals:
            self.refusals -= 1
            raise sqlite3.OperationalError("database or disk is full")
        self.written += 1


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)


async def test_an_ending_is_tried_until_the_storage_takes_it_and_then_no_more(database: Database):
    waiting = Backlog(database)
    first, second = Ending(3), Ending(0)
    waiting.add(first, first.tell)
    waiting.add(second, second.tell)
    await until(lambda: not len(waiting))
    third = Ending(0)
    waiting.add(third, third.tell)
    await until(lambda: not len(waiting))
    await waiting.stop()
    assert [one.written for one in (first, second, third)] == [1, 1, 1]
    assert [one.told for one in (first, second, third)] == [[1], [1], [1]]


async def test_stopping_tries_at_once(database: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "RETRY_SECONDS", 3600)
    waiting, ending = Backlog(database), Ending(0)
    waiting.add(ending, ending.tell)
    await waiting.stop()
    assert ending.written == 1


async def test_what_could_not_be_written_is_told(database: Database, caplog: pytest.LogCaptureFixture):
    waiting = Backlog(database)
    never = Ending(1_000_000)
    waiting.add(never, never.tell)
    await waiting.stop()
    assert never.told == []
    assert "endings that could not be recorded: 1; the next start closes these calls" in caplog.messages


async def test_a_call_whose_ending_was_refused_is_closed_when_the_storage_is_back(
    gateway: Box, monkeypatch: pytest.MonkeyPatch
):
    really = Database.write
    refusals = iter([False, True, True, True])  # the intent, and the first tries of its ending

    async def unwilling(self: Database, job: object) -> object:
        if next(refusals, False):
            raise module.StorageUnavailable("The call could not be recorded.", advice="Free disk space.")
        return await really(self, job)  # type: ignore[arg-type]  handed through

    monkeypatch.setattr(Database, "write", unwilling)
    answer = await gateway.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    await until(lambda: not len(gateway.app.pipeline._parts.backlog))
    assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "failed"
