"""Fixtures: the engine that tests share, and engines that a test may kill."""

import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.engine.models import bundled_path
from appliance.errors import EngineError
from tests.engine.live import Engine, start_engine


@pytest.fixture(scope="session")
def needs_llama() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("llama.cpp (xllamacpp) is not installed")
    try:
        bundled_path()
    except EngineError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def engine(needs_llama: None) -> Iterator[Engine]:
    """The engine that tests share; they leave it running, with the model loaded or not."""
    running = start_engine()
    yield running
    assert running.end() == 0


@pytest.fixture
def own_engine(needs_llama: None) -> Iterator[Callable[..., Engine]]:
    """Starts engines that a test may kill."""
    started: list[Engine] = []

    def start(**options: object) -> Engine:
        started.append(start_engine(**options))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end()
        elif each.process.stderr is not None:
            each.process.stderr.close()


@pytest.fixture
def short_directory() -> Iterator[Path]:
    """A directory whose path is short enough for a Unix socket."""
    directory = Path(tempfile.mkdtemp(prefix="synapse-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)
