"""An office as the pictures show it: everything that the console asks for is answered with the same words each time.

Made up from end to end; no name, number or address in it is anybody's.
"""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from appliance.admin import event_wire, ledger_wire, node_wire, policy_wire, pull_wire, wire
from appliance.admin.client import Client
from appliance.proofs import envelope
from appliance.proofs.certificate import (
    Certificate,
    Egress,
    Gateway,
    Intent,
    Pii,
    Request,
    Response,
    Routing,
    Sent,
    Usage,
    payload,
)
from appliance.proofs.envelope import Signer
from appliance.proofs.keyset import KeySet, PublicKey
from appliance.shield.categories import STANDARD

NOW = datetime(2026, 11, 30, 10, 32, 7, tzinfo=UTC)
ORIGIN = "office-1/synapse"


def ago(**span: float) -> str:
    return (NOW - timedelta(**span)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


WORDS = ("anchor", "basket", "copper", "donkey", "ember", "falcon", "garden", "hammer")
GATEWAY_WORDS = ("island", "jacket", "kettle", "lemon", "marble", "needle", "orchid", "pepper")
DESK, ATTIC, NEW = (f"node-{letter * 12}" for letter in "abc")

NODES = (
    node_wire.Node(
        NEW, "reception", "candidate", "pinned", "ollama", "https://192.168.1.23:11443", "ollama/0.32.15",
        ("llama3.2:3b",), 0, 0, WORDS,
    ),
    node_wire.Node(
        DESK, "desk-3", "active", "pinned", "ollama", "https://192.168.1.21:11443", "ollama/0.32.15",
        ("qwen3:8b", "llama3.2:3b"), 4, 2, WORDS, way="words", roles=("full", "fast"),
    ),
    node_wire.Node(
        ATTIC, "attic", "unhealthy", "open", "openai-compatible", "http://192.168.1.40:8000/v1", "vllm",
        (), 8, 0, way="administrator", why="it does not answer (connection refused)",
    ),
)  # fmt: skip

MACHINES = (
    wire.Machine(DESK, "desk-3", NODES[1].url, "ollama/0.32.15", "pinned", True, NODES[1].models),
    wire.Machine(ATTIC, "attic", NODES[2].url, "vllm", "open", False, (), NODES[2].why),
)

CALLS = (
    wire.Call(ago(seconds=41), "prf_7", "default", "simple", "llama3.2:3b", "desk-3", "complete", 1240, 212, 61),
    wire.Call(ago(minutes=3), "prf_6", "legal", "complex", "gpt-4o", None, "complete", 8460, 1830, 702),
    wire.Call(ago(minutes=4), "prf_5", "default", "sensitive", "qwen3:8b", "desk-3", "complete", 5310, 930, 240),
    wire.Call(ago(minutes=9), "prf_4", "default", "agent", "qwen3:8b", "desk-3", "cancelled", 2100, 412, 18),
    wire.Call(ago(minutes=12), "prf_3", "default", "code", None, None, "failed", 310, 0, 0),
)


def call(number: int, one: wire.Call, *, left: bool = False) -> ledger_wire.LedgerCall:
    provider = "openai" if left else "ollama" if one.model else None
    key = ("n8n", "key_3") if one.workspace == "default" else ("cursor", "key_2")
    return ledger_wire.LedgerCall(
        one.at, one.proof_id, one.workspace, key[1], key[0], "admin", "openai", "pulse-auto", one.task,
        "full" if number % 2 else "fast", provider, one.model, one.node, one.prompt_tokens, one.completion_tokens,
        1000 if left else 250, 14_200 if left else 0, 14_200, 12, 240 + number * 31, one.total_ms, 3 if left else 0,
        one.ending, left,
    )  # fmt: skip


LEDGER = tuple(call(number, one, left=one.model == "gpt-4o") for number, one in enumerate(CALLS))

KEYS = (
    wire.Key("key_1", "laptop", "admin", "default", ("engine",), False, None, None, ago(days=200), None, ago(days=9),
             "revoked", 0),
    wire.Key("key_2", "cursor", "rita", "legal", ("engine",), False, 500_000, 30, ago(days=90),
             "2027-01-31T00:00:00.000Z", None, "active", 182_250),
    wire.Key("key_3", "n8n", "admin", "default", ("engine", "proofs"), False, None, 60, ago(days=40), None, None,
             "active", 1_204_500),
)  # fmt: skip

PROVIDERS = (
    policy_wire.Provider("mistral", "mistral", "https://api.mistral.ai/v1", None, None, ago(days=3), False),
    policy_wire.Provider(
        "openai", "openai", "https://api.openai.com/v1", "gpt-4o", "gpt-4o-mini", ago(days=80), True,
        policy_wire.Price(2_500_000, 10_000_000), policy_wire.Price(150_000, 600_000),
    ),
)  # fmt: skip

CHANGES = (
    event_wire.Change(9, ago(minutes=20), "rita", "policy.allow", "ws_legal", None, '["ollama","openai"]'),
    event_wire.Change(8, ago(hours=2), "rita", "shield.set", "mode", '"standard"', '"medical"'),
    event_wire.Change(7, ago(days=1), "anna", "key.create", "key_3", None, '{"name":"n8n"}'),
    event_wire.Change(6, ago(days=9), "anna", "key.revoke", "key_1", '{"name":"laptop","state":"active"}',
                      '{"name":"laptop","state":"revoked"}'),
)  # fmt: skip

PULLS = (
    pull_wire.Pull("pull_2", "qwen3:14b", "desk-3", DESK, "running", "pulling a8cc1361f314", 3_120_000_000,
                   9_280_000_000, ago(minutes=2), None),
    pull_wire.Pull("pull_1", "llama3.2:3b", "desk-3", DESK, "done", "success", 2_019_000_000, 2_019_000_000,
                   ago(days=1), ago(hours=23)),
)  # fmt: skip

TEXT = "Please call Dr. Braun on +33 6 12 34 56 78, or write to m.braun@example.com."

FOUND = tuple(
    wire.ShieldFinding(TEXT.index(value), TEXT.index(value) + len(value), category, f"[{category}_k3]", rule, near)
    for value, category, rule, near in (
        ("+33 6 12 34 56 78", "PHONE", "number with a calling code", "call"),
        ("m.braun@example.com", "EMAIL", "address", ""),
    )
)


def sum_of(group: str | None, calls: int, *, left: bool = False, scale: int = 1) -> ledger_wire.Sum:
    times = ledger_wire.Percentiles(320, 900, 1200, 2600) if calls else None
    return ledger_wire.Sum(
        group, calls, 1200 * calls, 240 * calls, (1000 if left else 250) * calls, 14_200 * calls * left, 0,
        14_200 * calls, 14_200 * calls * (not left), 3 * calls * left * scale, times, times,
    )  # fmt: skip


class Office(Client):
    """`empty`: as it is on the day of the installation."""

    def __init__(self, *, empty: bool = False) -> None:
        super().__init__(Path("/nowhere"))
        self._empty = empty
        self._signer = Signer(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))

    async def events(self) -> AsyncGenerator[event_wire.Event, None]:
        status, nodes, pulls = await self.status(), await self.nodes(), await self.pulls()
        yield event_wire.Event(status=status, nodes=nodes, pulls=pulls, last_change=9, problem="")
        await asyncio.Event().wait()

    async def status(self) -> wire.Status:
        local = wire.Lane("ollama", True, True, 1, "qwen3:8b")
        openai = wire.Lane("openai", False, True, 0, "gpt-4o")
        if self._empty:
            local = wire.Lane("ollama", True, False, 0, None, "no machine that runs models is reachable")
        return wire.Status(
            "0.1.0", 4242, ago(days=12), "local", "https://synapse.office.lan:8787/v1", "standard", "ollama",
            (local,) if self._empty else (local, openai), () if self._empty else MACHINES,
            wire.KeyCount(0, 0, 0) if self._empty else wire.KeyCount(2, 0, 1), 0 if self._empty else 3,
            () if self._empty else CALLS, None if self._empty else ago(hours=9),
        )  # fmt: skip

    async def nodes(self) -> node_wire.NodeList:
        return node_wire.NodeList(() if self._empty else NODES, "gw", GATEWAY_WORDS, 0)

    async def pulls(self) -> pull_wire.PullList:
        return pull_wire.PullList(() if self._empty else PULLS)

    async def models(self) -> wire.ModelList:
        names = {"full": "qwen3:8b", "fast": "llama3.2:3b", "local": "qwen3:8b", "embedding": None}
        roles = tuple(
            wire.RoleModel(
                role,
                names[role] if role in ("full", "fast") and not self._empty else None,
                None if self._empty else names[role],
                "full" if role == "local" else None,
                names[role] is not None and not self._empty,
            )
            for role in wire.ROLES
        )
        return wire.ModelList(roles, () if self._empty else MACHINES)

    async def keys(self) -> wire.KeyList:
        return wire.KeyList(() if self._empty else KEYS)

    async def users(self) -> wire.UserList:
        return wire.UserList(tuple(wire.Named(f"usr_{name}", name, ago(days=200)) for name in ("admin", "rita")))

    async def workspaces(self) -> wire.WorkspaceList:
        made = (wire.Workspace(f"ws_{name}", name, ago(days=200), None, 0) for name in ("default", "legal"))
        return wire.WorkspaceList(tuple(made))

    async def shield(self) -> wire.Shield:
        return wire.Shield("standard", False, "standard", STANDARD, "FR", 0, 0)

    async def test_shield(self, text: str) -> wire.ShieldAnswer:
        return wire.ShieldAnswer("standard", "", FOUND)

    async def providers(self) -> policy_wire.ProviderList:
        return policy_wire.ProviderList(() if self._empty else PROVIDERS)

    async def policy(self, workspace: str | None = None) -> policy_wire.Policy:
        allow = None if self._empty else ("ollama", "openai", "mistral")
        full = () if self._empty else ("ollama/qwen3:8b", "openai/gpt-4o")
        fast = () if self._empty else ("ollama/llama3.2:3b", "openai/gpt-4o-mini")
        skipped = () if self._empty else ("mistral",)
        return policy_wire.Policy(
            workspace or "default", "local", "standard", "ollama", allow, "refuse", "refuse", full, fast, skipped,
            ("Nothing leaves.",), 9,
        )  # fmt: skip

    async def calls(self, question: ledger_wire.CallsQuestion) -> ledger_wire.CallsPage:
        return ledger_wire.CallsPage(() if self._empty else LEDGER, None)

    async def sums(self, question: ledger_wire.SumsQuestion) -> ledger_wire.Sums:
        if question.by == "day":
            days = (
                [] if self._empty else [(NOW - timedelta(days=back)).date().isoformat() for back in range(29, -1, -1)]
            )
            return ledger_wire.Sums(tuple(sum_of(day, 12 + (7 * at) % 31) for at, day in enumerate(days)))
        if self._empty:
            return ledger_wire.Sums((sum_of(None, 0),) if question.by is None else ())
        if question.by is not None:
            return ledger_wire.Sums(tuple(sum_of(name, count) for name, count in (("cursor", 12), ("n8n", 41))))
        left = question.which.left
        return ledger_wire.Sums((sum_of(None, 4 if left else 53, left=bool(left)),))

    async def changes(self, *, limit: int | None = None, before: int | None = None) -> event_wire.ChangeList:
        return event_wire.ChangeList(() if self._empty else CHANGES, None)

    async def proofs(self, *, limit: int | None = None, before: int | None = None) -> wire.ProofList:
        if self._empty:
            return wire.ProofList((), None)
        return wire.ProofList(
            tuple(
                wire.Proof(
                    one.proof_id, 412 - at, one.at, one.workspace, "pulse-auto", one.provider, one.model, one.ending
                )
                for at, one in enumerate(LEDGER)
            ),
            None,
        )

    async def proof(self, proof_id: str) -> bytes:
        return self._signer.sign(envelope.CERTIFICATE, payload(_certificate(proof_id), origin=ORIGIN, index=411)).file()

    async def proof_keys(self) -> bytes:
        return KeySet((PublicKey(self._signer.public, "certificate", 0),)).to_json()


def _certificate(proof_id: str) -> Certificate:
    intent = Intent(
        id=proof_id,
        workspace="ws_legal",
        key="key_2",
        gateway=Gateway("0.1.0", "1", sha256(b"policy").hexdigest()),
        received=NOW - timedelta(minutes=3),
        request=Request("/v1/chat/completions", "pulse-auto", sha256(b"request").hexdigest(), 812, True),
        address={"kind": "auto"},
        pii=Pii("standard"),
    )
    return Certificate(
        intent=intent,
        intent_index=410,
        completed=NOW - timedelta(minutes=2, seconds=51),
        egress=Egress(
            Pii("standard", 3, ("EMAIL", "PHONE")), Sent("openai", "gpt-4o", sha256(b"masked").hexdigest(), 1)
        ),
        response=Response("complete", sha256(b"delivered").hexdigest(), 200, sha256(b"text").hexdigest()),
        routing=Routing("complex", "full", "task=complex -> configured model (openai/gpt-4o)"),
        usage=Usage(1830, 702),
    )
