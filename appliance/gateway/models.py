"""`GET /v1/models` and `GET /v1/models/{id}`: the addresses that a client's picker may offer."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from appliance.dialects.openai import models
from appliance.errors import UnknownAgent
from appliance.gateway.auth import Authenticator


class Models:
    """`full_model` gives the full model in force for a workspace's row number, None where there is none; `created`
    is in epoch seconds."""

    def __init__(self, auth: Authenticator, *, full_model: Callable[[int], str | None], created: int) -> None:
        self._auth = auth
        self._full_model = full_model
        self._created = created

    async def list(self, request: Request) -> Response:
        caller = await self._auth.caller(request.scope, ["engine"])
        return _json(models.list_body(self._entries(caller.workspace_n)))

    async def one(self, request: Request) -> Response:
        """An id may hold `:` and `/`."""
        caller = await self._auth.caller(request.scope, ["engine"])
        wanted: str = request.path_params["id"]
        for model in self._entries(caller.workspace_n):
            if model.id == wanted:
                return _json(models.model_body(model))
        raise UnknownAgent("There is no model with this id.", advice="GET /v1/models lists the ids.", param="model")

    def _entries(self, workspace_n: int) -> tuple[models.Model, ...]:
        return models.entries(created=self._created, full_model=self._full_model(workspace_n))


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
