from collections.abc import AsyncIterator

import pytest

from appliance.admin.client import Client
from tests.admin.played import client, daemon, database, listening
from tests.tui.seats import Seat, seated

__all__ = ["client", "daemon", "database", "listening"]


@pytest.fixture
async def seat(client: Client) -> AsyncIterator[Seat]:
    """A person at a console of 80×24, on its first page."""
    async with seated(client) as seat:
        yield seat
