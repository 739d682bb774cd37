"""A real node in the test's process, on ports of its own, and what would be heard of it."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.cluster.agent.node import Sockets, Trusted, port_of, running
from appliance.cluster.agent.state import opened
from appliance.cluster.cluster_key import parse
from appliance.cluster.identity import Identity
from appliance.cluster.sightings import Sighting
from appliance.cluster.words import words
from tests.admin.cluster import Cluster
from tests.cluster.joining import bound

OLLAMA = Sighting("ollama", "attic", "", ("192.168.1.30",), 11434, 0, claimed=False, interface="eth0")
"""A plain Ollama as it announces itself."""


@dataclass(frozen=True)
class Nearby:
    """A node that runs; `id` is of its key."""

    id: str
    port: int
    join_port: int

    @property
    def sighting(self) -> Sighting:
        instance = f"syn-{self.id[:16]}"
        return Sighting("node", instance, self.id, ("127.0.0.1",), self.port, self.join_port, False, "eth0")

    @property
    def url(self) -> str:
        return f"synapse://127.0.0.1:{self.join_port}"

    @property
    def last_words(self) -> str:
        return " ".join(words(self.id)[-2:])


@asynccontextmanager
async def nearby(
    directory: Path, *, key: str | None = None, gateway: Identity | None = None, name: str = "desk"
) -> AsyncIterator[Nearby]:
    """`key` is the cluster key and `gateway` the gateway whose words it was given, one of both or neither."""
    trusted = Trusted(None if key is None else parse(key), None if gateway is None else words(gateway.id))
    minutes = itertools.count(step=60)  # so that no attempt is one too many
    with opened(directory, name=name, fallback="") as state, bound() as data, bound() as joins:
        async with running(
            state,
            trusted,
            Sockets(data, joins),
            ollama="http://127.0.0.1:1",
            slots=2,
            version="1",
            announce=None,
            monotonic=lambda: float(next(minutes)),
        ):
            yield Nearby(state.identity.id, port_of(data), port_of(joins))


def hear(cluster: Cluster, *sightings: Sighting) -> None:
    """This is all that is heard now."""
    cluster.heard.sightings = sightings
    cluster.newcomers.news()
