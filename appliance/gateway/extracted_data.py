"""`/v1/ai/extracted-data`: the facts that a user's calls have extracted, to be read and deleted.

Source: completions.md, "Extracted data"; deleting all facts of a source is beyond it.
"""

import orjson
from starlette.requests import Request
from starlette.responses import Response

from appliance.errors import BadRequest, ReadOnlyKey
from appliance.gateway.auth import Authenticator
from appliance.gateway.queries import number_up_to
from appliance.store import facts
from appliance.store.database import Database
from appliance.store.facts import FactRow
from appliance.store.keys import Caller
from appliance.store.wiping import Wiper
from appliance.times import from_ms, rfc3339

SCOPES = ("engine",)

PATH = "/v1/ai/extracted-data"

DEFAULT_LIMIT, MAX_LIMIT = 100, 500
"""Facts a page."""


class ExtractedData:
    """A key sees the facts of its own user, in every workspace; for another's it is as if they did not exist."""

    def __init__(self, auth: Authenticator, database: Database, wiper: Wiper) -> None:
        self._auth = auth
        self._database = database
        self._wiper = wiper

    async def many(self, request: Request) -> Response:
        """Those of a source, a category or all, or with DELETE all of one source."""
        caller = await self._auth.admitted(request.scope, SCOPES)
        return await (self._delete_source if request.method == "DELETE" else self._list)(request, caller)

    async def one(self, request: Request) -> Response:
        caller = await self._auth.admitted(request.scope, SCOPES)
        return await (self._delete if request.method == "DELETE" else self._show)(request, caller)

    async def _list(self, request: Request, caller: Caller) -> Response:
        asked = request.query_params
        limit = number_up_to(asked, "limit", otherwise=DEFAULT_LIMIT, most=MAX_LIMIT)
        source, category = asked.get("source"), asked.get("category")
        rows = await self._database.read(
            lambda conn: facts.page(conn, caller.user_n, source=source, category=category, limit=limit)
        )
        return _json({"data": [_shape(row) for row in rows], "count": len(rows)})

    async def _show(self, request: Request, caller: Caller) -> Response:
        fact_id: str = request.path_params["id"]
        row = await self._database.read(lambda conn: facts.get(conn, caller.user_n, fact_id))
        return _not_found() if row is None else _json({"data": _shape(row)})

    async def _delete(self, request: Request, caller: Caller) -> Response:
        _check_may_write(caller)
        fact_id: str = request.path_params["id"]
        was_there = await self._wiper.write(lambda conn: facts.delete(conn, caller.user_n, fact_id))
        return Response(status_code=204) if was_there else _not_found()

    async def _delete_source(self, request: Request, caller: Caller) -> Response:
        _check_may_write(caller)
        source = _source_alone(request)
        await self._wiper.write(lambda conn: facts.delete_source(conn, caller.user_n, source))
        return Response(status_code=204)


def _check_may_write(caller: Caller) -> None:
    if caller.read_only:
        raise ReadOnlyKey("This key is read-only.", advice="Ask the administrator for a key that may delete.")


def _source_alone(request: Request) -> str:
    """Raises BadRequest for anything beside it: whoever narrows a deletion must not have more deleted than they say."""
    asked = request.query_params.multi_items()
    if [name for name, _ in asked] != ["source"] or not asked[0][1]:
        raise BadRequest(
            "Deleting many facts takes `source`, once and not empty, and nothing else.",
            advice=f"Send DELETE {PATH}?source=…, or {PATH}/{{id}} for one fact.",
            param="source",
        )
    return asked[0][1]


def _shape(row: FactRow) -> dict[str, object]:
    return {
        "id": row.id,
        "source": row.source,
        "category": row.category,
        "key": row.key,
        "value": row.value,
        "confidence": row.confidence,
        "createdAt": rfc3339(from_ms(row.created_ms)),
        "updatedAt": rfc3339(from_ms(row.updated_ms)),
    }


def _not_found() -> Response:
    """In the seed's own words, which have no code."""
    return _json({"error": "Not found"}, status=404)


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")
