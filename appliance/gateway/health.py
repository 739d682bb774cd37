"""`GET /healthz`: the process lives. `GET /readyz`: it can answer calls and record them."""

import sqlite3
from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from appliance.errors import StorageUnavailable
from appliance.gateway.drain import Drain
from appliance.store.database import Database


class Health:
    """`lane_problem` says why the lane that calls go to cannot answer, None when it can."""

    def __init__(self, database: Database, drain: Drain, lane_problem: Callable[[], str | None]) -> None:
        self._database = database
        self._drain = drain
        self._lane_problem = lane_problem

    async def live(self, _: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def ready(self, _: Request) -> Response:
        """200 when every check is `ok`, else 503; each check by name."""
        checks = {
            "daemon": "it is stopping" if self._drain.closing else "ok",
            "lane": self._lane_problem() or "ok",
            "storage": await self._storage(),
        }
        ready = all(state == "ok" for state in checks.values())
        body = orjson.dumps({"status": "ready" if ready else "not ready", "checks": checks})
        return Response(body, status_code=200 if ready else 503, media_type="application/json")

    async def _storage(self) -> str:
        failing = self._database.failing  # asked first: the write below settles it, and this one is small
        try:
            await self._database.write(_touch)
        except StorageUnavailable as error:
            return error.message
        return "the last write failed" if failing else "ok"


def _touch(conn: sqlite3.Connection) -> None:
    """Write one page without changing anything: an update to the same value would not be written at all."""
    version: int = conn.execute("PRAGMA user_version").fetchone()[0]
    conn.execute(f"PRAGMA user_version = {version}")
