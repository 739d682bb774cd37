"""`GET /healthz`: the process lives. `GET /readyz`: it can answer calls and record them."""

from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from appliance.errors import StorageUnavailable
from appliance.store.database import Database


class Health:
    """`lane_ready` says whether the lane that calls go to has a machine with a model."""

    def __init__(self, database: Database, lane_ready: Callable[[], bool]) -> None:
        self._database = database
        self._lane_ready = lane_ready

    async def live(self, _: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def ready(self, _: Request) -> Response:
        """200 when every check is `ok`, else 503; each check by name."""
        checks = {
            "lane": "ok" if self._lane_ready() else "no machine with a model is reachable",
            "storage": await self._storage(),
        }
        ready = all(state == "ok" for state in checks.values())
        body = orjson.dumps({"status": "ready" if ready else "not ready", "checks": checks})
        return Response(body, status_code=200 if ready else 503, media_type="application/json")

    async def _storage(self) -> str:
        try:
            # An update that changes no row still has to take the write lock and commit.
            await self._database.write(lambda conn: conn.execute("UPDATE installation SET n = n WHERE n = 0"))
        except StorageUnavailable as error:
            return error.message
        return "ok"
