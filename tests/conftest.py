import pytest

from tests.upstreams.ollama import ollama_double


@pytest.fixture
async def ollama():
    """One double of Ollama."""
    async with ollama_double() as double:
        yield double
