"""The admin API as a Starlette app: HTTP and JSON around `Service`, and nothing that decides.

Who asks is what `peers` found out about the connection, in the scope. There is no other authentication here:
whoever may open the socket is an administrator (operations.md, "Admin API and console"). Requests with an
`Origin` are refused, since no page of a browser has any business here.
"""

from typing import cast

import orjson
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from appliance.admin import backup_wire, ledger_wire, node_wire, policy_wire, pull_wire, wire
from appliance.admin.backup_response import BackupResponse
from appliance.admin.events import Events
from appliance.admin.http import answer, body_as, number, raw_answer, refusal, who_asks
from appliance.admin.service import PAGE, Service
from appliance.errors import AdminError, SynapseError

MAX_CA_BODY_BYTES = 256 * 1024
"""Of the request that brings a file of certificates …"""

MAX_TEXT_BYTES = 4 * 1024 * 1024
"""… and of the one that brings a text for the shield to look at."""

_STATUS = {
    wire.InvalidInput.code: 400,
    wire.UnknownSubject.code: 404,
    wire.Conflict.code: 409,
    AdminError.code: 409,
    "join_failed": 409,
    "storage_unavailable": 503,
    "state_error": 503,
    "request_too_large": 413,
}


_OLDER = "Restart it if it is older than this command."


def create_app(service: Service, events: Events) -> Starlette:
    """The ASGI app. Its scopes carry a `Peer` under `PEER`, as `peers.AdminListener` puts it there."""
    api = _Api(service, events)
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
        Route("/pulls", api.pulls),
        Route("/pulls", api.start_pull, methods=["POST"]),
        Route("/pulls/cancel", api.cancel_pull, methods=["POST"]),
        Route("/backups", api.make_backup, methods=["POST"]),
        Route("/backups/kept", api.keep_backup, methods=["POST"]),
        Route("/changes", api.changes),
        Route("/events", api.events),
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
    def __init__(self, service: Service, events: Events) -> None:
        self._service = service
        self._events = events

    async def status(self, _: Request) -> Response:
        return answer(await self._service.status())

    async def keys(self, _: Request) -> Response:
        return answer(await self._service.keys())

    async def create_key(self, request: Request) -> Response:
        new = await body_as(wire.NewKey, request)
        return answer(await self._service.create_key(who_asks(request), new), status=201)

    async def revoke_key(self, request: Request) -> Response:
        named = await body_as(wire.KeyRef, request)
        return answer(await self._service.revoke_key(who_asks(request), named.key))

    async def workspaces(self, _: Request) -> Response:
        return answer(await self._service.workspaces())

    async def create_workspace(self, request: Request) -> Response:
        new = await body_as(wire.NewName, request)
        return answer(await self._service.create_workspace(who_asks(request), new), status=201)

    async def set_allowance(self, request: Request) -> Response:
        new = await body_as(wire.NewAllowance, request)
        return answer(await self._service.set_allowance(who_asks(request), new))

    async def users(self, _: Request) -> Response:
        return answer(await self._service.users())

    async def create_user(self, request: Request) -> Response:
        new = await body_as(wire.NewName, request)
        return answer(await self._service.create_user(who_asks(request), new), status=201)

    async def erase_user(self, request: Request) -> Response:
        named = await body_as(wire.UserRef, request)
        return answer(await self._service.erase_user(who_asks(request), named.name))

    async def models(self, _: Request) -> Response:
        return answer(await self._service.models())

    async def set_model(self, request: Request) -> Response:
        role, new = _role(request), await body_as(wire.NewModel, request)
        return answer(await self._service.set_model(who_asks(request), role, new))

    async def unset_model(self, request: Request) -> Response:
        return answer(await self._service.unset_model(who_asks(request), _role(request), number(request, "seen")))

    async def shield(self, _: Request) -> Response:
        return answer(await self._service.shield())

    async def set_shield_mode(self, request: Request) -> Response:
        new = await body_as(wire.NewShieldMode, request)
        return answer(await self._service.set_shield_mode(who_asks(request), new))

    async def test_shield(self, request: Request) -> Response:
        return answer(await self._service.test_shield(await body_as(wire.ShieldQuestion, request, MAX_TEXT_BYTES)))

    async def providers(self, _: Request) -> Response:
        return answer(await self._service.providers())

    async def put_provider(self, request: Request) -> Response:
        new = await body_as(policy_wire.NewProvider, request)
        put = await self._service.put_provider(who_asks(request), new)
        return answer(put, status=200 if put.before else 201)

    async def remove_provider(self, request: Request) -> Response:
        old = await body_as(policy_wire.OldProvider, request)
        return answer(await self._service.remove_provider(who_asks(request), old))

    async def test_provider(self, request: Request) -> Response:
        named = await body_as(policy_wire.ProviderRef, request)
        return answer(await self._service.test_provider(named.name))

    async def policy(self, request: Request) -> Response:
        return answer(await self._service.policy(request.query_params.get("workspace")))

    async def set_allow_list(self, request: Request) -> Response:
        new = await body_as(policy_wire.NewAllowList, request)
        return answer(await self._service.set_allow_list(who_asks(request), new))

    async def clear_allow_list(self, request: Request) -> Response:
        workspace, seen = request.query_params.get("workspace"), number(request, "seen")
        return answer(await self._service.clear_allow_list(who_asks(request), workspace, seen))

    async def set_active(self, request: Request) -> Response:
        new = await body_as(policy_wire.NewActive, request)
        return answer(await self._service.set_active(who_asks(request), new))

    async def set_unscannable(self, request: Request) -> Response:
        new = await body_as(policy_wire.NewChoice, request)
        return answer(await self._service.set_unscannable(who_asks(request), new))

    async def set_sensitive_on_open(self, request: Request) -> Response:
        new = await body_as(policy_wire.NewChoice, request)
        return answer(await self._service.set_sensitive_on_open(who_asks(request), new))

    async def nodes(self, _: Request) -> Response:
        return answer(self._service.nodes.list_all())

    async def add_node(self, request: Request) -> Response:
        new = await body_as(node_wire.NewNode, request, MAX_CA_BODY_BYTES)
        return answer(await self._service.nodes.add(who_asks(request), new), status=201)

    async def admit_node(self, request: Request) -> Response:
        admission = await body_as(node_wire.Admission, request)
        return answer(await self._service.nodes.admit(who_asks(request), admission))

    async def reject_node(self, request: Request) -> Response:
        named = await body_as(node_wire.NodeRef, request)
        return answer(await self._service.nodes.reject(who_asks(request), named.node))

    async def drain_node(self, request: Request) -> Response:
        named = await body_as(node_wire.NodeRef, request)
        return answer(await self._service.nodes.drain(who_asks(request), named.node, on=True))

    async def resume_node(self, request: Request) -> Response:
        named = await body_as(node_wire.NodeRef, request)
        return answer(await self._service.nodes.drain(who_asks(request), named.node, on=False))

    async def remove_node(self, request: Request) -> Response:
        named = await body_as(node_wire.NodeRef, request)
        return answer(await self._service.nodes.remove(who_asks(request), named.node))

    async def cluster_key(self, _: Request) -> Response:
        return answer(await self._service.nodes.cluster_key())

    async def new_cluster_key(self, request: Request) -> Response:
        new = await body_as(node_wire.NewClusterKey, request)
        return answer(await self._service.nodes.new_cluster_key(who_asks(request), new), status=201)

    async def revoke_cluster_key(self, request: Request) -> Response:
        return answer(await self._service.nodes.revoke_cluster_key(who_asks(request)))

    async def contexts(self, _: Request) -> Response:
        return answer(await self._service.contexts())

    async def pulls(self, _: Request) -> Response:
        return answer(self._service.pulls.list_all())

    async def start_pull(self, request: Request) -> Response:
        new = await body_as(pull_wire.NewPull, request)
        return answer(await self._service.pulls.start(who_asks(request), new), status=201)

    async def cancel_pull(self, request: Request) -> Response:
        named = await body_as(pull_wire.PullRef, request)
        return answer(await self._service.pulls.cancel(who_asks(request), named.id))

    async def make_backup(self, request: Request) -> Response:
        new = await body_as(backup_wire.NewBackup, request)
        return BackupResponse(self._service.backups.made(who_asks(request), new))

    async def keep_backup(self, request: Request) -> Response:
        return answer(await self._service.backups.kept(await body_as(backup_wire.KeptBackup, request)))

    async def calls(self, request: Request) -> Response:
        return answer(await self._service.calls(await body_as(ledger_wire.CallsQuestion, request)))

    async def sums(self, request: Request) -> Response:
        return answer(await self._service.sums(await body_as(ledger_wire.SumsQuestion, request)))

    async def changes(self, request: Request) -> Response:
        limit = number(request, "limit")
        return answer(await self._service.changes(PAGE if limit is None else limit, number(request, "before")))

    async def events(self, _: Request) -> Response:
        """A JSON document a line."""
        lines = (orjson.dumps(wire.encode(event)) + b"\n" async for event in self._events.stream())
        return StreamingResponse(lines, media_type="application/x-ndjson", headers={"cache-control": "no-store"})

    async def proofs(self, request: Request) -> Response:
        limit = number(request, "limit")
        page = await self._service.proofs(PAGE if limit is None else limit, number(request, "before"))
        return answer(page)

    async def proof(self, request: Request) -> Response:
        return raw_answer(await self._service.proof(request.path_params["proof_id"]))

    async def proof_keys(self, _: Request) -> Response:
        return raw_answer(await self._service.proof_keys())


class _NoBrowsers:
    """Refuses every request that says which page it came from."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "origin" in Headers(scope=scope):
            refused = refusal(403, "forbidden", "The admin API does not answer web pages.", "Use the synapse command.")
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _role(request: Request) -> wire.Role:
    role = request.path_params["role"]
    if role not in wire.ROLES:
        raise wire.InvalidInput(f'There is no role "{role}".', advice=f"There are: {', '.join(wire.ROLES)}.")
    return role


async def _expected(_: Request, error: Exception) -> Response:
    known = cast(SynapseError, error)
    return refusal(_STATUS.get(known.code, 500), known.code, known.message, known.advice)


async def _http(request: Request, error: Exception) -> Response:
    status = cast(HTTPException, error).status_code
    if status == 404:
        message = f"The daemon has no {request.url.path}."
        return refusal(404, "not_found", message, _OLDER)
    return refusal(status, "invalid_request", f"{request.method} does not go with {request.url.path}.", _OLDER)


async def _unexpected(_: Request, __: Exception) -> Response:
    """Starlette raises the error again afterwards, and the server logs it."""
    return refusal(500, "internal_error", "The daemon failed on this request.", "Its log says where.")
