"""The typed client of the admin API: what the command line, the console and the tests use.

Speaks to the Unix socket of a running daemon. Knows only the shapes of `wire`: never the daemon's parts, its
settings or its files. The shapes, how they look to people and the errors come along with it, so that the console
needs no other module of the daemon.
"""

import io
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import aiohttp
import orjson

from appliance.admin import backup_wire
from appliance.admin import event_wire as event_wire
from appliance.admin import ledger_wire as ledger_wire
from appliance.admin import looks as looks
from appliance.admin import node_wire as node_wire
from appliance.admin import policy_wire as policy_wire
from appliance.admin import pull_wire as pull_wire
from appliance.admin import values as values
from appliance.admin import wire as wire
from appliance.admin.unreachable import unreachable
from appliance.errors import AdminError as AdminError

T = TypeVar("T")

TIMEOUT_SECONDS = 30.0
"""Every operation is a short read or write of the daemon's own database."""

CHECK_SECONDS = 180.0
"""A trial call waits for a provider, which may be slow to begin."""

EVENT_SECONDS = 20.0
"""A daemon that has nothing to tell says so every few seconds (`events.ALIVE_SECONDS`)."""

BACKUP_SECONDS = 3600.0
"""A backup begins when the daemon has copied its database and read the copy; then it comes as fast as it is taken."""

_PROOF_ID = re.compile(r"prf_[0-9A-Za-z]{1,64}")

_SHOWN_CHARACTERS = 64
"""Of what somebody typed for an id."""

_TOO_LONG = frozenset((400, 413, 414, 431))
"""What answers from below the API, which look at nothing but the form and the length."""

_BASE = "http://daemon" + wire.ROOT
"""The host is only for HTTP's sake: the connection is the socket."""

_ERRORS: dict[str, type[AdminError]] = {
    wire.InvalidInput.code: wire.InvalidInput,
    wire.UnknownSubject.code: wire.UnknownSubject,
    wire.Conflict.code: wire.Conflict,
}


class Client:
    """One connection to a daemon; use it in `async with`. Every method raises `AdminError` with what to do next:
    `DaemonDown` where nobody answers, `InvalidInput`, `UnknownSubject`, `Conflict` for what was asked, else itself."""

    def __init__(self, socket: Path, *, timeout: float = TIMEOUT_SECONDS) -> None:
        self._socket = socket
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.UnixConnector(str(self._socket))
        self._session = aiohttp.ClientSession(connector=connector, timeout=self._timeout)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def status(self) -> wire.Status:
        return await self._ask(wire.Status, "GET", "/status")

    async def keys(self) -> wire.KeyList:
        return await self._ask(wire.KeyList, "GET", "/keys")

    async def create_key(self, new: wire.NewKey) -> wire.CreatedKey:
        return await self._ask(wire.CreatedKey, "POST", "/keys", new)

    async def revoke_key(self, id_or_name: str) -> wire.Key:
        return await self._ask(wire.Key, "POST", "/keys/revoke", wire.KeyRef(id_or_name))

    async def workspaces(self) -> wire.WorkspaceList:
        return await self._ask(wire.WorkspaceList, "GET", "/workspaces")

    async def create_workspace(self, name: str) -> wire.Workspace:
        return await self._ask(wire.Workspace, "POST", "/workspaces", wire.NewName(name))

    async def set_allowance(self, workspace: str, allowance_milli: int | None) -> wire.Workspace:
        new = wire.NewAllowance(workspace, allowance_milli)
        return await self._ask(wire.Workspace, "PUT", "/workspaces/allowance", new)

    async def users(self) -> wire.UserList:
        return await self._ask(wire.UserList, "GET", "/users")

    async def create_user(self, name: str) -> wire.Named:
        return await self._ask(wire.Named, "POST", "/users", wire.NewName(name))

    async def erase_user(self, name: str) -> wire.ErasedUser:
        """Forget what names a user, and revoke their keys."""
        return await self._ask(wire.ErasedUser, "POST", "/users/erase", wire.UserRef(name))

    async def models(self) -> wire.ModelList:
        return await self._ask(wire.ModelList, "GET", "/models")

    async def set_model(self, role: str, name: str, *, seen: int | None = None) -> wire.ModelList:
        """`seen`, here and below: the revision that was looked at. Raises `Conflict` where it is another by now."""
        return await self._ask(wire.ModelList, "PUT", f"/models/{quote(role, safe='')}", wire.NewModel(name, seen))

    async def unset_model(self, role: str, *, seen: int | None = None) -> wire.ModelList:
        return await self._ask(wire.ModelList, "DELETE", f"/models/{quote(role, safe='')}{_query(seen=seen)}")

    async def shield(self) -> wire.Shield:
        return await self._ask(wire.Shield, "GET", "/shield")

    async def set_shield_mode(self, mode: wire.ShieldMode, *, seen: int | None = None) -> wire.Shield:
        return await self._ask(wire.Shield, "PUT", "/shield/mode", wire.NewShieldMode(mode, seen))

    async def test_shield(self, text: str) -> wire.ShieldAnswer:
        """What would leave instead of `text`, and why."""
        return await self._ask(wire.ShieldAnswer, "POST", "/shield/test", wire.ShieldQuestion(text))

    async def providers(self) -> policy_wire.ProviderList:
        return await self._ask(policy_wire.ProviderList, "GET", "/providers")

    async def put_provider(self, new: policy_wire.NewProvider) -> policy_wire.PutProvider:
        """Add a provider, or change the one of this name; with another kind or URL it is a new one. Raises `Conflict`
        where it is another by now than the one of `new.seen`."""
        return await self._ask(policy_wire.PutProvider, "PUT", "/providers", new)

    async def remove_provider(self, name: str, *, seen: int | None = None) -> policy_wire.RemovedProvider:
        old = policy_wire.OldProvider(name, seen)
        return await self._ask(policy_wire.RemovedProvider, "POST", "/providers/remove", old)

    async def test_provider(self, name: str) -> policy_wire.ProviderCheck:
        named = _encoded(policy_wire.ProviderRef(name))
        answer = await self._send("POST", "/providers/test", named, seconds=CHECK_SECONDS)
        return _decoded(policy_wire.ProviderCheck, answer)

    async def policy(self, workspace: str | None = None) -> policy_wire.Policy:
        """The policy in force for a workspace; None is the default one."""
        return await self._ask(policy_wire.Policy, "GET", f"/policy{_query(workspace=workspace)}")

    async def set_allow_list(
        self, providers: tuple[str, ...], workspace: str | None = None, *, seen: int | None = None
    ) -> policy_wire.Policy:
        new = policy_wire.NewAllowList(providers, workspace, seen)
        return await self._ask(policy_wire.Policy, "PUT", "/policy/allow", new)

    async def clear_allow_list(self, workspace: str | None = None, *, seen: int | None = None) -> policy_wire.Policy:
        return await self._ask(policy_wire.Policy, "DELETE", f"/policy/allow{_query(workspace=workspace, seen=seen)}")

    async def set_active(self, provider: str, *, seen: int | None = None) -> policy_wire.Policy:
        return await self._ask(policy_wire.Policy, "PUT", "/policy/active", policy_wire.NewActive(provider, seen))

    async def set_unscannable(self, value: policy_wire.RefuseOrAllow, *, seen: int | None = None) -> policy_wire.Policy:
        new = policy_wire.NewChoice(value, seen)
        return await self._ask(policy_wire.Policy, "PUT", "/policy/unscannable", new)

    async def set_sensitive_on_open(
        self, value: policy_wire.RefuseOrAllow, *, seen: int | None = None
    ) -> policy_wire.Policy:
        new = policy_wire.NewChoice(value, seen)
        return await self._ask(policy_wire.Policy, "PUT", "/policy/sensitive-on-open", new)

    async def nodes(self) -> node_wire.NodeList:
        """Every machine and candidate."""
        return await self._ask(node_wire.NodeList, "GET", "/nodes")

    async def add_node(self, new: node_wire.NewNode) -> node_wire.Node:
        return await self._ask(node_wire.Node, "POST", "/nodes", new)

    async def admit_node(self, admission: node_wire.Admission) -> node_wire.Node:
        return await self._ask(node_wire.Node, "POST", "/nodes/admit", admission)

    async def reject_node(self, node: str) -> node_wire.Node:
        return await self._ask(node_wire.Node, "POST", "/nodes/reject", node_wire.NodeRef(node))

    async def drain_node(self, node: str) -> node_wire.Node:
        return await self._ask(node_wire.Node, "POST", "/nodes/drain", node_wire.NodeRef(node))

    async def resume_node(self, node: str) -> node_wire.Node:
        return await self._ask(node_wire.Node, "POST", "/nodes/resume", node_wire.NodeRef(node))

    async def remove_node(self, node: str) -> node_wire.Node:
        """Put a machine out; the answer is how it was."""
        return await self._ask(node_wire.Node, "POST", "/nodes/remove", node_wire.NodeRef(node))

    async def cluster_key(self) -> node_wire.CurrentClusterKey:
        return await self._ask(node_wire.CurrentClusterKey, "GET", "/cluster-key")

    async def new_cluster_key(self, new: node_wire.NewClusterKey) -> node_wire.ClusterKey:
        return await self._ask(node_wire.ClusterKey, "POST", "/cluster-key", new)

    async def revoke_cluster_key(self) -> node_wire.RevokedClusterKey:
        return await self._ask(node_wire.RevokedClusterKey, "DELETE", "/cluster-key")

    async def contexts(self) -> wire.ContextList:
        """How long the prompts are that the models in use take."""
        return await self._ask(wire.ContextList, "GET", "/contexts")

    async def pulls(self) -> pull_wire.PullList:
        """Models that machines are fetching, and the last that they have fetched or not."""
        return await self._ask(pull_wire.PullList, "GET", "/pulls")

    async def start_pull(self, new: pull_wire.NewPull) -> pull_wire.Pull:
        """Let a machine fetch a model, in the background; the answer is the one that runs, if it does so already."""
        return await self._ask(pull_wire.Pull, "POST", "/pulls", new)

    async def cancel_pull(self, pull_id: str) -> pull_wire.Pull:
        return await self._ask(pull_wire.Pull, "POST", "/pulls/cancel", pull_wire.PullRef(pull_id))

    @asynccontextmanager
    async def backup(self, new: backup_wire.NewBackup) -> AsyncGenerator[tuple[int, AsyncIterator[bytes]]]:
        """The bytes of a backup while the block lasts, and how many they are. They may break off: count them."""
        patience = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_SECONDS, sock_read=BACKUP_SECONDS)
        async with self._answered("POST", "/backups", _encoded(new), patience) as response:
            yield response.content_length or 0, response.content.iter_any()

    async def keep_backup(self, kept: backup_wire.KeptBackup) -> backup_wire.KeptBackup:
        """Note a backup that was written and read back."""
        return await self._ask(backup_wire.KeptBackup, "POST", "/backups/kept", kept)

    async def calls(self, question: ledger_wire.CallsQuestion) -> ledger_wire.CallsPage:
        """A page of the ledger."""
        return await self._ask(ledger_wire.CallsPage, "POST", "/ledger/calls", question)

    async def sums(self, question: ledger_wire.SumsQuestion) -> ledger_wire.Sums:
        """What the calls of the ledger come to."""
        return await self._ask(ledger_wire.Sums, "POST", "/ledger/sums", question)

    async def proofs(self, *, limit: int | None = None, before: int | None = None) -> wire.ProofList:
        """A page, newest first; `before` is the `next_before` of the page before it."""
        return await self._ask(wire.ProofList, "GET", f"/proofs{_query(limit=limit, before=before)}")

    async def changes(self, *, limit: int | None = None, before: int | None = None) -> event_wire.ChangeList:
        """What administrators have changed, newest first; `before` is the `next_before` of the page before."""
        return await self._ask(event_wire.ChangeList, "GET", f"/changes{_query(limit=limit, before=before)}")

    async def events(self) -> AsyncGenerator[event_wire.Event, None]:
        """How the daemon is, then what of it changes, until it stops. A daemon that hangs is one that is down."""
        patience = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_SECONDS, sock_read=EVENT_SECONDS)
        async with self._answered("GET", "/events", None, patience) as response:
            rest = b""
            async for piece in response.content.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield _decoded(event_wire.Event, line)

    async def proof(self, proof_id: str) -> bytes:
        """The exact bytes of a certificate's canonical file."""
        if not _PROOF_ID.fullmatch(proof_id):  # in a URL it could be another route
            shown = looks.printable(proof_id[:_SHOWN_CHARACTERS])
            raise wire.UnknownSubject(
                f'There is no certificate "{shown}".',
                advice="An id is prf_ and 26 letters and digits; synapse proof list shows the newest.",
            )
        return await self._send("GET", f"/proofs/{proof_id}")

    async def proof_keys(self) -> bytes:
        """The public keys, as the bytes of a JWK set."""
        return await self._send("GET", "/proofs/keys")

    async def _ask(self, cls: type[T], method: str, path: str, body: Any = None) -> T:
        answer = await self._send(method, path, None if body is None else _encoded(body))
        return _decoded(cls, answer)

    async def _send(self, method: str, path: str, body: bytes | None = None, *, seconds: float | None = None) -> bytes:
        limits = self._timeout if seconds is None else aiohttp.ClientTimeout(total=seconds)
        async with self._answered(method, path, body, limits) as response:
            return await response.read()

    @asynccontextmanager
    async def _answered(
        self, method: str, path: str, body: bytes | None, limits: aiohttp.ClientTimeout
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """An answer that refuses nothing, to be read in the block."""
        if self._session is None:
            raise RuntimeError("the client is used outside of its `async with`")
        try:
            # From a file object, which is written in pieces: a text for the shield can be long.
            data = None if body is None else io.BytesIO(body)
            async with self._session.request(method, _BASE + path, data=data, timeout=limits) as response:
                if response.status >= 400:
                    raise _refusal(await response.read(), response.status)
                yield response
        except aiohttp.ClientConnectorError as error:
            raise unreachable(self._socket, error.os_error) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise AdminError(
                f"The daemon did not answer properly on {self._socket} ({type(error).__name__}).",
                advice="Look in its log, and start it again.",
            ) from error


def _query(**asked: str | int | None) -> str:
    """What is not None of it, as the query of a URL."""
    given = {name: str(value) for name, value in asked.items() if value is not None}
    try:
        return "?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
    except UnicodeEncodeError as error:
        raise wire.InvalidInput("A name is not text in UTF-8.", advice="Type it again.") from error


def _encoded(body: Any) -> bytes:
    try:
        return orjson.dumps(wire.encode(body))
    except orjson.JSONEncodeError as error:  # a lone surrogate: bytes of the command line that are not UTF-8
        raise wire.InvalidInput("A name is not text in UTF-8.", advice="Type it again.") from error


def _decoded(cls: type[T], answer: bytes) -> T:
    try:
        return wire.decode(cls, orjson.loads(answer), lenient=True)
    except (orjson.JSONDecodeError, wire.InvalidInput) as error:
        raise AdminError(
            f"The daemon answered in a form that this command does not know ({error}).",
            advice="Restart it: it is of another version.",
        ) from error


def _refusal(answer: bytes, status: int) -> AdminError:
    try:
        problem = wire.decode(wire.Refusal, orjson.loads(answer), lenient=True).error
    except (orjson.JSONDecodeError, wire.InvalidInput):
        advice = "Shorten what was typed or pasted, and send it again." if status in _TOO_LONG else "Look in its log."
        return AdminError(f"The daemon answered with status {status}.", advice=advice)
    return _ERRORS.get(problem.code, AdminError)(problem.message, advice=problem.advice)
