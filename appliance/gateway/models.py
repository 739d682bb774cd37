"""`GET /v1/models` and `GET /v1/models/{id}`: the addresses that a client's picker may offer, in its dialect."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from appliance.dialects.anthropic import models as anthropic
from appliance.dialects.chat import DialectError
from appliance.dialects.openai import models
from appliance.errors import BadRequest, UnknownAgent
from appliance.gateway.auth import Authenticator
from appliance.gateway.edge import speaks_anthropic
from appliance.gateway.queries import whole_number


class Models:
    """`full_model` gives the full model in force for a workspace's row number, None where there is none; `created`
    is in epoch seconds."""

    def __init__(self, auth: Authenticator, *, full_model: Callable[[int], str | None], created: int) -> None:
        self._auth = auth
        self._full_model = full_model
        self._created = created

    async def list(self, request: Request) -> Response:
        caller = await self._auth.admitted(request.scope, ["engine"])
        entries = self._entries(caller.workspace_n)
        if not speaks_anthropic(request.scope):
            return _json(models.list_body(entries))
        asked = request.query_params
        limit = whole_number(asked, "limit", otherwise=anthropic.DEFAULT_LIMIT, most=anthropic.MAX_LIMIT)
        after, before = asked.get("after_id", ""), asked.get("before_id", "")
        try:
            return _json(anthropic.list_body(entries, limit=limit, after=after, before=before))
        except DialectError as error:
            raise BadRequest(error.message, param=error.param) from None

    async def one(self, request: Request) -> Response:
        """An id may hold `:` and `/`."""
        caller = await self._auth.admitted(request.scope, ["engine"])
        wanted: str = request.path_params["id"]
        for model in self._entries(caller.workspace_n):
            if model.id == wanted:
                written = anthropic.model_body if speaks_anthropic(request.scope) else models.model_body
                return _json(written(model))
        raise UnknownAgent("There is no model with this id.", advice="GET /v1/models lists the ids.", param="model")

    def _entries(self, workspace_n: int) -> tuple[models.Model, ...]:
        return models.entries(created=self._created, full_model=self._full_model(workspace_n))


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
