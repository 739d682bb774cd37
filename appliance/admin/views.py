"""What the admin API shows of the running daemon: machines, certificates and calls, in the API's own shapes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from appliance.admin import wire
from appliance.cluster.machine import Machine, Model, canonical
from appliance.proofs import identity
from appliance.proofs.log import signed
from appliance.store import certificates, ledger, workspaces
from appliance.store.database import Database
from appliance.store.ledger import LedgerRow
from appliance.store.log_entries import EntryRow
from appliance.times import from_ms, rfc3339


class MachineView:
    """`models`: those that calls of the local lane ask for, by role. `context_of` chooses no context by being asked."""

    def __init__(
        self,
        machines: Callable[[], tuple[Machine, ...]],
        models: Callable[[], Mapping[str, str]],
        context_of: Callable[[Machine, Model], int],
    ) -> None:
        self._machines = machines
        self._models = models
        self._context_of = context_of

    def snapshot(self) -> Sequence[wire.Machine]:
        return [_machine(machine) for machine in self._machines()]

    def contexts(self) -> Sequence[wire.ModelContext]:
        by_role = self._models()
        found: list[wire.ModelContext] = []
        for machine in self._machines():
            for name in dict.fromkeys(by_role.values()):
                model = machine.find(name) if machine.healthy else None
                if model is not None:
                    roles = tuple(role for role, wanted in by_role.items() if wanted == name)
                    tokens = self._context_of(machine, model) or None
                    found.append(wire.ModelContext(machine.name, name, roles, tokens, model.context_length))
        return found


class ProofView:
    """The certificates of all workspaces, which only an administrator sees together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def newest(self, *, limit: int, before: int | None) -> Sequence[wire.Proof]:
        rows = await self._database.read(lambda conn: certificates.page(conn, limit=limit, before=before))
        return [_proof(row) for row in rows]

    async def show(self, proof_id: str) -> bytes | None:
        row = await self._database.read(lambda conn: certificates.get(conn, proof_id))
        return signed(row).file() if row else None

    async def keys(self) -> bytes:
        return (await self._database.read(identity.public_keys)).to_json()


class ActivityView:
    """`in_flight` counts the calls that run now; `machines` gives the names of nodes."""

    def __init__(
        self, database: Database, in_flight: Callable[[], int], machines: Callable[[], tuple[Machine, ...]]
    ) -> None:
        self._database = database
        self._count = in_flight
        self._machines = machines

    def in_flight(self) -> int:
        return self._count()

    async def last_calls(self, limit: int) -> Sequence[wire.Call]:
        rows = await self._database.read(lambda conn: ledger.newest(conn, limit))
        names = {row.n: row.name for row in await self._database.read(workspaces.list_all)}
        nodes = {machine.id: machine.name for machine in self._machines()}
        return [_call(row, names[row.workspace_n], nodes) for row in rows]


def _machine(machine: Machine) -> wire.Machine:
    return wire.Machine(
        id=machine.id,
        name=machine.name,
        url=machine.url,
        engine=machine.engine,
        trust=machine.trust,
        healthy=machine.healthy,
        models=tuple(canonical(model.name) for model in machine.models if not model.remote),
        why=machine.why or None,
    )


def _proof(row: EntryRow) -> wire.Proof:
    payload = cast(Mapping[str, Any], signed(row).payload)
    egress: Mapping[str, Any] = payload["egress"]
    return wire.Proof(
        id=payload["id"],
        index=row.n,
        received=payload["time"]["received"],
        workspace=payload["workspace"],
        model=payload["request"]["model"],
        provider=egress.get("provider"),
        answered_by=egress.get("model"),
        ending=payload["response"]["ending"],
    )


def _call(row: LedgerRow, workspace: str, nodes: Mapping[str, str]) -> wire.Call:
    """A machine that is not known any more is shown by its id."""
    return wire.Call(
        at=rfc3339(from_ms(row.at_ms)),
        proof_id=row.proof_id,
        workspace=workspace,
        task=row.task,
        model=row.model,
        node=nodes.get(row.node, row.node) if row.node else None,
        ending=row.ending,
        total_ms=row.total_ms,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
    )
