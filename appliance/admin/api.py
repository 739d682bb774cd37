"""The admin API as a Starlette app: HTTP and JSON around `Service`, and nothing that decides.

Who asks is what `peers` found out about the connection, in the scope. There is no other authentication here:
whoever may open the socket is an administrator (operations.md, "Admin API and console"). Requests with an
`Origin` are refused, since no page of a browser has any business here.
"""

from typing import Any, TypeVar, cast

import orjson
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from appliance.admin import backup_wire, ledger_wire, node_wire, policy_wire, wire
from appliance.admin.backup_response import BackupResponse
from appliance.admin.peers import PEER, Peer
from appliance.admin.service import PAGE, Service
from appliance.errors import AdminError, SynapseError

T = TypeVar("T")

MAX_BODY_BYTES = 64 * 1024
"""No request of this API comes near it …"""

MAX_CA_BODY_BYTES = 256 * 1024
"""… but the one that brings a file of certificates …"""

MAX_TEXT_BYTES = 4 * 1024 * 1024
"""… and the one that brings a text for the shield to look at."""

MAX_INDEX = 2**53 - 1
"""The largest log index that JSON carries exactly."""

_STATUS = {
    wire.InvalidInput.code: 400,
    wire.UnknownSubject.code: 404,
    AdminError.code: 409,
    "join_failed": 409,
    "storage_unavailable": 503,
    "state_error": 503,
    "request_too_large": 413,
}


class _BodyTooLarge(AdminError):
    code = "request_too_large"


def create_app(service: Service) -> Starlette:
    """The ASGI app. Its scopes carry a `Peer` under `PEER`, as `peers.AdminListener` puts it there."""
    api = _Api(service)
    routes = [
        Route("/status", api.status),
        Route("/keys", api.keys),
        Route("/keys", api.create_key, methods=["POST"]),
        Route("/keys/revoke", api.revoke_key, methods=["POST"]),
        Route("/workspaces", api.workspaces),
        Route("/workspaces", api.create_workspace, methods=["POST"]),
        Route("/workspaces/allowance", api.set_allowance, methods=["PUT"]),
        Route("/users", api.users),
        Route("/users", api.create_user, methods=["POST"]),
        Route("/users/erase", api.erase_user, methods=["POST"]),
        Route("/models", api.models),
        Route("/models/{role}", api.set_model, methods=["PUT"]),
        Route("/models/{role}", api.unset_model, methods=["DELETE"]),
        Route("/shield", api.shield),
        Route("/shield/mode", api.set_shield_mode, methods=["PUT"]),
        Route("/shield/test", api.test_shield, methods=["POST"]),
        Route("/providers", api.providers),
        Route("/providers", api.put_provider, methods=["PUT"]),
        Route("/providers/remove", api.remove_provider, methods=["POST"]),
        Route("/providers/test", api.test_provider, methods=["POST"]),
        Route("/policy", api.policy),
        Route("/policy/allow", api.set_allow_list, methods=["PUT"]),
        Route("/policy/allow", api.clear_allow_list, methods=["DELETE"]),
        Route("/policy/active", api.set_active, methods=["PUT"]),
        Route("/policy/unscannable", api.set_unscannable, methods=["PUT"]),
        Route("/policy/sensitive-on-open", api.set_sensitive_on_open, methods=["PUT"]),
        Route("/nodes", api.nodes),
        Route("/nodes", api.add_node, methods=["POST"]),
        Route("/nodes/admit", api.admit_node, methods=["POST"]),
        Route("/nodes/reject", api.reject_node, methods=["POST"]),
        Route("/nodes/drain", api.drain_node, methods=["POST"]),
        Route("/nodes/resume", api.resume_node, methods=["POST"]),
        Route("/nodes/remove", api.remove_node, methods=["POST"]),
        Route("/cluster-key", api.cluster_key),
        Route("/cluster-key", api.new_cluster_key, methods=["POST"]),
        Route("/cluster-key", api.revoke_cluster_key, methods=["DELETE"]),
        Route("/contexts", api.contexts),
        Route("/backups", api.make_backup, methods=["POST"]),
        Route("/backups/kept", api.keep_backup, methods=["POST"]),
        Route("/ledger/calls", api.calls, methods=["POST"]),
        Route("/ledger/sums", api.sums, methods=["POST"]),
        Route("/proofs", api.proofs),
        Route("/proofs/keys", api.proof_keys),
        Route("/proofs/{proof_id}", api.proof),
    ]
    app = Starlette(
        routes=[Route(wire.ROOT + route.path, route.endpoint, methods=list(route.methods or ())) for route in routes],
        middleware=[Middleware(_NoBrowsers)],
        exception_handlers={SynapseError: _expected, HTTPException: _http, Exception: _unexpected},
    )
    app.router.redirect_slashes = False
    return app


class _Api:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def status(self, _: Request) -> Response:
        return _json(await self._service.status())

    async def keys(self, _: Request) -> Response:
        return _json(await self._service.keys())

    async def create_key(self, request: Request) -> Response:
        new = await _body(wire.NewKey, request)
        return _json(await self._service.create_key(_who(request), new), status=201)

    async def revoke_key(self, request: Request) -> Response:
        named = await _body(wire.KeyRef, request)
        return _json(await self._service.revoke_key(_who(request), named.key))

    async def workspaces(self, _: Request) -> Response:
        return _json(await self._service.workspaces())

    async def create_workspace(self, request: Request) -> Response:
        new = await _body(wire.NewName, request)
        return _json(await self._service.create_workspace(_who(request), new), status=201)

    async def set_allowance(self, request: Request) -> Response:
        new = await _body(wire.NewAllowance, request)
        return _json(await self._service.set_allowance(_who(request), new))

    async def users(self, _: Request) -> Response:
        return _json(await self._service.users())

    async def create_user(self, request: Request) -> Response:
        new = await _body(wire.NewName, request)
        return _json(await self._service.create_user(_who(request), new), status=201)

    async def erase_user(self, request: Request) -> Response:
        named = await _body(wire.UserRef, request)
        return _json(await self._service.erase_user(_who(request), named.name))

    async def models(self, _: Request) -> Response:
        return _json(await self._service.models())

    async def set_model(self, request: Request) -> Response:
        role, new = _role(request), await _body(wire.NewModel, request)
        return _json(await self._service.set_model(_who(request), role, new))

    async def unset_model(self, request: Request) -> Response:
        return _json(await self._service.unset_model(_who(request), _role(request)))

    async def shield(self, _: Request) -> Response:
        return _json(await self._service.shield())

    async def set_shield_mode(self, request: Request) -> Response:
        new = await _body(wire.NewShieldMode, request)
        return _json(await self._service.set_shield_mode(_who(request), new))

    async def test_shield(self, request: Request) -> Response:
        return _json(await self._service.test_shield(await _body(wire.ShieldQuestion, request, MAX_TEXT_BYTES)))

    async def providers(self, _: Request) -> Response:
        return _json(await self._service.providers())

    async def put_provider(self, request: Request) -> Response:
        new = await _body(policy_wire.NewProvider, request)
        put = await self._service.put_provider(_who(request), new)
        return _json(put, status=200 if put.before else 201)

    async def remove_provider(self, request: Request) -> Response:
        named = await _body(policy_wire.ProviderRef, request)
        return _json(await self._service.remove_provider(_who(request), named.name))

    async def test_provider(self, request: Request) -> Response:
        named = await _body(policy_wire.ProviderRef, request)
        return _json(await self._service.test_provider(named.name))

    async def policy(self, request: Request) -> Response:
        return _json(await self._service.policy(request.query_params.get("workspace")))

    async def set_allow_list(self, request: Request) -> Response:
        new = await _body(policy_wire.NewAllowList, request)
        return _json(await self._service.set_allow_list(_who(request), new))

    async def clear_allow_list(self, request: Request) -> Response:
        return _json(await self._service.clear_allow_list(_who(request), request.query_params.get("workspace")))

    async def set_active(self, request: Request) -> Response:
        new = await _body(policy_wire.NewActive, request)
        return _json(await self._service.set_active(_who(request), new))

    async def set_unscannable(self, request: Request) -> Response:
        new = await _body(policy_wire.NewChoice, request)
        return _json(await self._service.set_unscannable(_who(request), new))

    async def set_sensitive_on_open(self, request: Request) -> Response:
        new = await _body(policy_wire.NewChoice, request)
        return _json(await self._service.set_sensitive_on_open(_who(request), new))

    async def nodes(self, _: Request) -> Response:
        return _json(self._service.nodes.list_all())

    async def add_node(self, request: Request) -> Response:
        new = await _body(node_wire.NewNode, request, MAX_CA_BODY_BYTES)
        return _json(await self._service.nodes.add(_who(request), new), status=201)

    async def admit_node(self, request: Request) -> Response:
        admission = await _body(node_wire.Admission, request)
        return _json(await self._service.nodes.admit(_who(request), admission))

    async def reject_node(self, request: Request) -> Response:
        named = await _body(node_wire.NodeRef, request)
        return _json(await self._service.nodes.reject(_who(request), named.node))

    async def drain_node(self, request: Request) -> Response:
        named = await _body(node_wire.NodeRef, request)
        return _json(await self._service.nodes.drain(_who(request), named.node, on=True))

    async def resume_node(self, request: Request) -> Response:
        named = await _body(node_wire.NodeRef, request)
        return _json(await self._service.nodes.drain(_who(request), named.node, on=False))

    async def remove_node(self, request: Request) -> Response:
        named = await _body(node_wire.NodeRef, request)
        return _json(await self._service.nodes.remove(_who(request), named.node))

    async def cluster_key(self, _: Request) -> Response:
        return _json(await self._service.nodes.cluster_key())

    async def new_cluster_key(self, request: Request) -> Response:
        new = await _body(node_wire.NewClusterKey, request)
        return _json(await self._service.nodes.new_cluster_key(_who(request), new), status=201)

    async def revoke_cluster_key(self, request: Request) -> Response:
        return _json(await self._service.nodes.revoke_cluster_key(_who(request)))

    async def contexts(self, _: Request) -> Response:
        return _json(await self._service.contexts())

    async def make_backup(self, request: Request) -> Response:
        new = await _body(backup_wire.NewBackup, request)
        return BackupResponse(self._service.backups.made(_who(request), new))

    async def keep_backup(self, request: Request) -> Response:
        return _json(await self._service.backups.kept(await _body(backup_wire.KeptBackup, request)))

    async def calls(self, request: Request) -> Response:
        return _json(await self._service.calls(await _body(ledger_wire.CallsQuestion, request)))

    async def sums(self, request: Request) -> Response:
        return _json(await self._service.sums(await _body(ledger_wire.SumsQuestion, request)))

    async def proofs(self, request: Request) -> Response:
        limit = _number(request, "limit")
        page = await self._service.proofs(PAGE if limit is None else limit, _number(request, "before"))
        return _json(page)

    async def proof(self, request: Request) -> Response:
        return _bytes(await self._service.proof(request.path_params["proof_id"]))

    async def proof_keys(self, _: Request) -> Response:
        return _bytes(await self._service.proof_keys())


class _NoBrowsers:
    """Refuses every request that says which page it came from."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "origin" in Headers(scope=scope):
            refusal = _problem(403, "forbidden", "The admin API does not answer web pages.", "Use the synapse command.")
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _who(request: Request) -> str:
    return cast(Peer, request.scope[PEER]).login


def _role(request: Request) -> wire.Role:
    role = request.path_params["role"]
    if role not in wire.ROLES:
        raise wire.InvalidInput(f'There is no role "{role}".', advice=f"There are: {', '.join(wire.ROLES)}.")
    return role


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= MAX_INDEX):
        raise wire.InvalidInput(f"{name} must be a whole number.")
    return int(text)


async def _body(cls: type[T], request: Request, limit: int = MAX_BODY_BYTES) -> T:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise _BodyTooLarge(f"The body is larger than {limit} bytes.")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise wire.InvalidInput("The body is not JSON.") from error
    return wire.decode(cls, value)


def _json(shape: Any, *, status: int = 200) -> Response:
    return _bytes(orjson.dumps(wire.encode(shape)), status=status)


def _bytes(body: bytes, *, status: int = 200) -> Response:
    return Response(body, status_code=status, media_type="application/json", headers={"cache-control": "no-store"})


def _problem(status: int, code: str, message: str, advice: str) -> Response:
    return _json(wire.Refusal(wire.Problem(code, message, advice)), status=status)


async def _expected(_: Request, error: Exception) -> Response:
    known = cast(SynapseError, error)
    return _problem(_STATUS.get(known.code, 500), known.code, known.message, known.advice)


async def _http(request: Request, error: Exception) -> Response:
    status = cast(HTTPException, error).status_code
    if status == 404:
        message = f"The daemon has no {request.url.path}."
        return _problem(404, "not_found", message, "Restart it if it is older than this command.")
    return _problem(status, "invalid_request", f"{request.method} does not go with {request.url.path}.", "")


async def _unexpected(_: Request, __: Exception) -> Response:
    """Starlette raises the error again afterwards, and the server logs it."""
    return _problem(500, "internal_error", "The daemon failed on this request.", "Its log says where.")
