import os
import shutil
from collections.abc import Iterator

import pytest

from tests.e2e.installation import Engine, Installation


@pytest.fixture(params=[()])
def programs(request: pytest.FixtureRequest) -> None:
    """Programs that a test runs: their absence skips it here, and is a failure in CI."""
    missing = [name for name in request.param if shutil.which(name) is None]
    if missing and "CI" not in os.environ:
        pytest.skip(f"needs {', '.join(missing)}")
    assert not missing


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    running = Engine(tmp_path_factory.mktemp("engine"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def installation(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A daemon on the embedded engine, shared by the tests of a module."""
    made = Installation(tmp_path_factory.mktemp("synapse") / "state", engine.url)
    made.start()
    yield made
    assert made.stop() == 0
