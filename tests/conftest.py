from pathlib import Path

import pytest

from tests.box import box
from tests.upstreams.ollama import OllamaDouble, ollama_double


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
