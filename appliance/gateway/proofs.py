"""`GET /v1/proofs`, `GET /v1/proofs/{id}` and the public keys: the evidence, as exact bytes."""

from starlette.requests import Request
from starlette.responses import Response

from appliance.errors import BadRequest, NotFound
from appliance.gateway.auth import Authenticator
from appliance.gateway.queries import whole_number
from appliance.proofs import identity
from appliance.proofs.log import signed
from appliance.store import certificates
from appliance.store.database import Database

SCOPES = ("proofs", "engine")

DEFAULT_LIMIT, MAX_LIMIT = 20, 100
"""Certificates a page: about 1.5 kB each."""


class Proofs:
    """A key sees the certificates of its own workspace; for another's it is as if they did not exist."""

    def __init__(self, auth: Authenticator, database: Database) -> None:
        self._auth = auth
        self._database = database

    async def list(self, request: Request) -> Response:
        """Newest first; `before` is the id of the last certificate of the page before."""
        caller = await self._auth.admitted(request.scope, SCOPES)
        limit = whole_number(request.query_params, "limit", otherwise=DEFAULT_LIMIT, most=MAX_LIMIT)
        before = request.query_params.get("before")
        index = await self._index(before, caller.workspace_n) if before is not None else None
        rows = await self._database.read(
            lambda conn: certificates.page(conn, limit=limit + 1, before=index, workspace_n=caller.workspace_n)
        )
        files = b",".join(signed(row).file() for row in rows[:limit])
        more = b"true" if len(rows) > limit else b"false"
        return _json(b'{"object":"list","data":[%b],"has_more":%b}' % (files, more))

    async def one(self, request: Request) -> Response:
        """The bytes of the canonical file, nothing around them."""
        caller = await self._auth.admitted(request.scope, SCOPES)
        proof_id: str = request.path_params["id"]
        row = await self._database.read(lambda conn: certificates.get(conn, proof_id, caller.workspace_n))
        if row is None:
            raise NotFound(
                "There is no certificate with this id in this workspace.",
                advice="A call's certificate exists once its last byte has been sent.",
            )
        return _json(signed(row).file())

    async def keys(self, _: Request) -> Response:
        """Needs no key: whoever checks a certificate may be anybody."""
        keys = await self._database.read(identity.public_keys)
        return _json(keys.to_json())

    async def _index(self, proof_id: str, workspace_n: int) -> int:
        row = await self._database.read(lambda conn: certificates.get(conn, proof_id, workspace_n))
        if row is None:
            raise BadRequest(
                "`before` is not the id of a certificate in this workspace.",
                advice="Give the last id of the page before.",
                param="before",
            )
        return row.n


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
