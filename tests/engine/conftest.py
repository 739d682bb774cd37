"""Fixtures: the engine that tests share, and engines that a test may kill."""

import asyncio
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.engine import minilm
from appliance.engine.models import bundled_path
from appliance.errors import EngineError
from tests.engine.live import Engine, start_engine


def lacks(what: str) -> None:
    """Skips a test for the lack of a package; where all of them are installed on purpose, that is a failure."""
    if "CI" in os.environ:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def needs_llama() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        lacks("llama.cpp (xllamacpp) is not installed")
    try:
        bundled_path()
    except EngineError as error:
        lacks(error.message)


@pytest.fixture(scope="session")
def weights() -> minilm.Source:
    """The weights of the bundled embedding model, and what converts them."""
    source = minilm.find_source()
    if source is None:
        lacks(f"the embedding model ({minilm.DISTRIBUTION}) is not installed")
    for name in ("gguf", "numpy", "yaml"):
        if importlib.util.find_spec(name) is None:
            lacks(f"the package {name}, which converts the embedding model, is not installed")
    return source


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests' engines keep the embedding model, so that it is converted once."""
    return tmp_path_factory.mktemp("engine-state")


@pytest.fixture(scope="session")
def embedding_file(weights: minilm.Source, state: Path) -> Path:
    return asyncio.run(minilm.converted(weights, state))


@pytest.fixture(scope="session")
def engine(needs_llama: None, state: Path) -> Iterator[Engine]:
    """The engine that tests share; they leave it running, with its models loaded or not."""
    running = start_engine(state=str(state))
    yield running
    assert running.end() == 0


@pytest.fixture
def own_engine(needs_llama: None, state: Path) -> Iterator[Callable[..., Engine]]:
    """Starts engines that a test may kill."""
    started: list[Engine] = []

    def start(**options: object) -> Engine:
        started.append(start_engine(**{"state": str(state)} | options))
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
