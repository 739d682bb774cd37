from collections.abc import Iterator

import pytest

from tests.e2e.installation import Engine, Installation
from tests.e2e.needs import need
from tests.e2e.node_clients import install


@pytest.fixture(params=[()])
def programs(request: pytest.FixtureRequest) -> None:
    """Programs that a test runs."""
    need(*request.param)


@pytest.fixture(scope="session")
def node_clients() -> None:
    """Claude Code and the SDK in JavaScript are installed."""
    need("node", "npm")
    install()


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
