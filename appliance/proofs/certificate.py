"""What an intent and a certificate say, and the payloads that are signed for them.

Hashes, counts and names only. It must not know text, storage or the clock; the log gives the index.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from appliance.errors import ProofError
from appliance.proofs.profile import VERSION, Ending, ShieldMode, Tier, Trust, check_intent
from appliance.times import rfc3339


@dataclass(frozen=True, slots=True)
class Gateway:
    """What was in force. `policy` is the SHA-256 of the policy, hexadecimal like every hash here."""

    version: str
    shield_rules: str
    policy: str


@dataclass(frozen=True, slots=True)
class Request:
    """`sha256` and `bytes` are of the body as received, `model` is the caller's string verbatim, `""` if missing."""

    endpoint: str
    model: str
    sha256: str
    bytes: int
    stream: bool


@dataclass(frozen=True, slots=True)
class Pii:
    """What the shield masked: distinct values and their categories, never the values."""

    mode: ShieldMode
    count: int = 0
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intent:
    """What is known before anything is sent upstream. `address` is the address object, ready for JSON.

    `pii` says what has been masked by then: nothing, so that only its mode is of interest.
    """

    id: str
    workspace: str
    key: str
    gateway: Gateway
    received: datetime
    request: Request
    address: Mapping[str, object]
    pii: Pii


@dataclass(frozen=True, slots=True)
class Routing:
    task: str
    tier: Tier
    reason: str


@dataclass(frozen=True, slots=True)
class Node:
    """The machine that answered a local call."""

    id: str
    name: str
    engine: str
    trust: Trust


@dataclass(frozen=True, slots=True)
class Sent:
    """What went to a model: the last attempt, of `attempts`. A call is local when a `node` answered it."""

    provider: str
    model: str
    sha256: str
    attempts: int
    node: Node | None = None


@dataclass(frozen=True, slots=True)
class Egress:
    """`sent` is None when the call ended before any model was asked."""

    pii: Pii
    sent: Sent | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """`sha256` is of the body bytes as delivered, `text_sha256` of the restored answer's UTF-8, None without one.

    `status` is None when the client left before any status was sent.
    """

    ending: Ending
    sha256: str
    status: int | None
    text_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that the answer was grounded in."""

    source: str
    chunk_id: str
    sha256: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model reported them."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """One ended call. `intent_index` is the log index of its intent; `routing` is None when it was refused earlier."""

    intent: Intent
    intent_index: int
    completed: datetime
    egress: Egress
    response: Response
    routing: Routing | None = None
    grounding: tuple[Passage, ...] = ()
    usage: Usage | None = None


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds. Raises `ProofError` for a moment without a time zone."""
    if moment.utcoffset() is None:
        raise ProofError("A time in a certificate needs a time zone.")
    return rfc3339(moment)


def intent_payload(intent: Intent, *, origin: str, index: int) -> dict[str, object]:
    """The payload of the intent at `index` of the log named `origin`."""
    request = intent.request
    return {
        "v": VERSION,
        "id": intent.id,
        "workspace": intent.workspace,
        "key": intent.key,
        "gateway": {
            "version": intent.gateway.version,
            "shieldRules": intent.gateway.shield_rules,
            "policy": intent.gateway.policy,
        },
        "log": {"origin": origin, "index": index},
        "time": {"received": timestamp(intent.received)},
        "request": {
            "endpoint": request.endpoint,
            "model": request.model,
            "sha256": request.sha256,
            "bytes": request.bytes,
            "stream": request.stream,
        },
        "address": dict(intent.address),
        "egress": {"pii": _pii(intent.pii)},
    }


def payload(certificate: Certificate, *, origin: str, index: int) -> dict[str, object]:
    """The payload of the certificate at `index` of the log named `origin`."""
    opening = intent_payload(certificate.intent, origin=origin, index=certificate.intent_index)
    closed = _closed(opening, index=index, completed=certificate.completed)
    closed["egress"] = _egress(certificate.egress)
    closed["response"] = _response(certificate.response)
    if routing := certificate.routing:
        closed["routing"] = {"taskType": routing.task, "tier": routing.tier, "reason": routing.reason}
    if certificate.grounding:
        closed["grounding"] = [_passage(passage) for passage in certificate.grounding]
    if usage := certificate.usage:
        closed["usage"] = {"promptTokens": usage.prompt_tokens, "completionTokens": usage.completion_tokens}
    return closed


def recovered(intent: Mapping[str, object], *, index: int, completed: datetime) -> dict[str, object]:
    """The payload that closes an intent whose call was cut off by the death of the process.

    What was sent and answered is unknown, so nothing is said about it beyond the intent. `completed` is the
    moment of closing.

    Raises:
        ProofError: `intent` is not the payload of an intent.
    """
    check_intent(intent)
    closed = _closed(intent, index=index, completed=completed)
    closed["recovered"] = True
    closed["response"] = {"ending": "failed"}
    return closed


def _closed(intent: Mapping[str, object], *, index: int, completed: datetime) -> dict[str, object]:
    log = cast("dict[str, object]", intent["log"])
    time = cast("dict[str, object]", intent["time"])
    return {
        **intent,
        "log": {**log, "index": index, "intent": log["index"]},
        "time": {**time, "completed": timestamp(completed)},
    }


def _pii(pii: Pii) -> dict[str, object]:
    return {"mode": pii.mode, "count": pii.count, "categories": sorted(set(pii.categories))}


def _egress(egress: Egress) -> dict[str, object]:
    pii = _pii(egress.pii)
    sent = egress.sent
    if sent is None:
        return {"attempts": 0, "pii": pii}
    said: dict[str, object] = {
        "provider": sent.provider,
        "model": sent.model,
        "local": sent.node is not None,
        "sha256": sent.sha256,
        "attempts": sent.attempts,
        "pii": pii,
    }
    if node := sent.node:
        said["node"] = {"id": node.id, "name": node.name, "engine": node.engine, "trust": node.trust}
    return said


def _response(response: Response) -> dict[str, object]:
    said: dict[str, object] = {"ending": response.ending, "sha256": response.sha256}
    if response.status is not None:
        said["status"] = response.status
    if response.text_sha256 is not None:
        said["textSha256"] = response.text_sha256
    return said


def _passage(passage: Passage) -> dict[str, object]:
    said: dict[str, object] = {"source": passage.source, "chunkId": passage.chunk_id, "sha256": passage.sha256}
    if passage.page is not None:
        said["page"] = passage.page
    return said
