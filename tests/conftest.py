import gc
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from appliance.store.migrate import migrate
from tests.box import box
from tests.upstreams.ollama import OllamaDouble, ollama_double

# A rule is tried on hypothesis' own 100 examples, few enough for every run: what is more is for whoever changed the
# rule, with `scripts/test --hypothesis-profile=thorough tests/...`.
settings.register_profile("thorough", max_examples=2000, deadline=None)


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays to the end, and is not to be gone through again and again: half a second each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    """An empty database with the schema, in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    migrate(connection)
    yield connection
    connection.close()


@pytest.fixture
async def ollama():
    """One double of Ollama."""
    async with ollama_double() as double:
        yield double


@pytest.fixture
async def gateway(tmp_path: Path, ollama: OllamaDouble):
    """A gateway with one machine, the double."""
    async with box(tmp_path / "state", ollama.url) as made:
        yield made
