"""What the admin API and its client say to each other: frozen shapes, and their strict JSON form.

Times are RFC 3339 strings in UTC, questions are thousandths, durations milliseconds. Imports nothing of ours
but the errors, so that a client needs nothing else of the daemon.
"""

import difflib
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from appliance.errors import AdminError

T = TypeVar("T")

ROOT = "/admin/v1"
"""The path that every route of the API begins with."""

Scope = Literal["engine", "proofs", "knowledge", "metrics"]
"""What a key may be used for (gateway.md, "Routes")."""

ShieldMode = Literal["standard", "medical", "off"]
"""What the shield masks (synapse.md, "PII shield")."""

Role = Literal["full", "fast", "local", "embedding"]
"""A model's place in the local lane (routing.md, "Settings that decide")."""

SCOPES: tuple[Scope, ...] = get_args(Scope)
ROLES: tuple[Role, ...] = get_args(Role)


class InvalidInput(AdminError):
    """What was asked for makes no sense as it is."""

    code = "invalid_request"


class UnknownSubject(AdminError):
    """What was named does not exist."""

    code = "not_found"


class DaemonDown(AdminError):
    """Nobody answers on the socket."""

    code = "daemon_down"


@dataclass(frozen=True, slots=True)
class NewName:
    """A workspace or a user to be made."""

    name: str


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to be made. None stands for the default user and workspace, no scopes for `engine` alone."""

    name: str
    user: str | None = None
    workspace: str | None = None
    scopes: tuple[str, ...] = ()
    read_only: bool = False
    ceiling_milli: int | None = None
    requests_per_minute: int | None = None
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A workspace or a user."""

    id: str
    name: str
    created: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """`allowance_milli`: thousandths of a question a calendar month, which count where `app_mode` is `cloud`; None is
    no allowance. `used_milli` is what its calls have counted in this month so far."""

    id: str
    name: str
    created: str
    allowance_milli: int | None
    used_milli: int


@dataclass(frozen=True, slots=True)
class NewAllowance:
    """Of one workspace. None takes it away."""

    workspace: str
    allowance_milli: int | None


@dataclass(frozen=True, slots=True)
class WorkspaceList:
    workspaces: tuple[Workspace, ...]


@dataclass(frozen=True, slots=True)
class UserList:
    users: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Key:
    id: str
    name: str
    user: str
    workspace: str
    scopes: tuple[str, ...]
    read_only: bool
    ceiling_milli: int | None
    requests_per_minute: int | None
    created: str
    expires: str | None
    revoked: str | None
    state: Literal["active", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class KeyList:
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class KeyRef:
    """The id or the name of a key."""

    key: str


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key. `secret` is what a client sends; it is never shown again."""

    secret: str
    key: Key


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of the local lane. `why`: in a sentence, why it is not used; None when it is."""

    id: str
    name: str
    url: str
    engine: str
    trust: Literal["loopback", "pinned", "open"]
    healthy: bool
    models: tuple[str, ...]
    why: str | None = None


@dataclass(frozen=True, slots=True)
class NewModel:
    """The model that a role is to have."""

    name: str


@dataclass(frozen=True, slots=True)
class RoleModel:
    """A role's model. `configured` is what was set, `effective` what a call gets: where nothing was set, that of
    the role that it `follows`, or else what the machines have. `available`: a healthy machine has it."""

    role: Role
    configured: str | None
    effective: str | None
    follows: Role | None
    available: bool


@dataclass(frozen=True, slots=True)
class ModelList:
    roles: tuple[RoleModel, ...]
    machines: tuple[Machine, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """A place that calls can go to. `machines` counts the healthy ones of a local lane; `model` is its full model.

    `why`: in a sentence, why it is not ready; None when it is.
    """

    name: str
    local: bool
    ready: bool
    machines: int
    model: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class KeyCount:
    active: int
    expired: int
    revoked: int


@dataclass(frozen=True, slots=True)
class Call:
    """A finished call, as the ledger has it."""

    at: str
    proof_id: str
    workspace: str
    task: str | None
    model: str | None
    node: str | None
    ending: str
    total_ms: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Status:
    """`pid` is the daemon's process."""

    version: str
    pid: int
    started: str
    app_mode: Literal["local", "cloud"]
    base_url: str
    shield_mode: ShieldMode
    active_provider: str
    lanes: tuple[Lane, ...]
    machines: tuple[Machine, ...]
    keys: KeyCount
    calls_in_flight: int
    last_calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """A certificate in one line. `model` is what the caller asked for, `answered_by` what answered."""

    id: str
    index: int
    received: str
    workspace: str
    model: str
    provider: str | None
    answered_by: str | None
    ending: str


@dataclass(frozen=True, slots=True)
class ProofList:
    """Newest first. `next_before` asks for the page after this one; None when this is the last."""

    proofs: tuple[Proof, ...]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class Shield:
    """The mode in force and the categories that it masks. `configured` is the settings file's mode, which holds
    while `set` is false. `names` and `ignored` count the administrator's own."""

    mode: ShieldMode
    set: bool
    configured: ShieldMode
    categories: tuple[str, ...]
    country: str
    names: int
    ignored: int


@dataclass(frozen=True, slots=True)
class NewShieldMode:
    mode: ShieldMode


@dataclass(frozen=True, slots=True)
class ShieldQuestion:
    text: str


@dataclass(frozen=True, slots=True)
class ShieldFinding:
    """A value of the text: the code points from `start` to before `end`, what stands there instead, and why."""

    start: int
    end: int
    category: str
    token: str
    rule: str
    context: str


@dataclass(frozen=True, slots=True)
class ShieldAnswer:
    """What would leave instead of a text, in the mode in force."""

    mode: ShieldMode
    masked: str
    findings: tuple[ShieldFinding, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """The `error` of an answer that refuses."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Refusal:
    error: Problem


def encode(shape: Any) -> dict[str, Any]:
    """The JSON object of a shape of this module."""
    return asdict(shape)


def decode(cls: type[T], value: object, *, lenient: bool = False) -> T:
    """The shape that a JSON value holds.

    Args:
        cls: a shape of this module.
        value: what a JSON parser gave.
        lenient: let members pass that the shape does not have. For answers, so that a newer daemon may say more.

    Raises:
        InvalidInput: a member is missing, unknown or of the wrong type; the message names it.
    """
    return cast(T, _shape(cls, value, "", lenient))


def _shape(cls: Any, value: object, where: str, lenient: bool) -> object:
    if not isinstance(value, dict):
        raise InvalidInput(f"{where or 'The body'} must be a JSON object.")
    members = cast(dict[str, object], value)
    hints = _hints(cls)
    for name in members:
        if name not in hints and not lenient:
            near = difflib.get_close_matches(name, list(hints), n=1)
            raise InvalidInput(
                f"{_join(where, name)} is not known here.", advice=f"Did you mean {near[0]}?" if near else ""
            )
    given: dict[str, object] = {}
    for item in fields(cls):
        if item.name in members:
            given[item.name] = _value(hints[item.name], members[item.name], _join(where, item.name), lenient)
        elif item.default is MISSING:
            raise InvalidInput(f"{_join(where, item.name)} is missing.")
    return cls(**given)


def _value(hint: Any, value: object, where: str, lenient: bool) -> object:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # only `X | None` is used
        return None if value is None else _value(arguments[0], value, where, lenient)
    if origin is tuple:
        if not isinstance(value, list):
            raise InvalidInput(f"{where} must be a list.")
        entries = enumerate(cast(list[object], value))
        return tuple(_value(arguments[0], entry, f"{where}[{n}]", lenient) for n, entry in entries)
    if origin is Literal:
        if value not in arguments:
            raise InvalidInput(f"{where} must be one of: {', '.join(arguments)}.")
        return value
    if is_dataclass(hint):
        return _shape(hint, value, where, lenient)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise InvalidInput(f"{where} must be {_KINDS[hint]}.")
    return value


_KINDS: Mapping[type, str] = {str: "a string", int: "a whole number", bool: "true or false"}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
