"""What the admin API and its client say to each other: frozen shapes, and their strict JSON form.

Times are RFC 3339 strings in UTC, questions are thousandths, durations milliseconds. Imports nothing of ours
but the errors, so that a client needs nothing else of the daemon.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from appliance.admin.strict_json import InvalidInput as InvalidInput
from appliance.admin.strict_json import decode as decode
from appliance.admin.strict_json import encode as encode
from appliance.errors import AdminError

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


class UnknownSubject(AdminError):
    """What was named does not exist."""

    code = "not_found"


class Conflict(AdminError):
    """What is to be changed was changed by somebody else, after it was looked at."""

    code = "conflict"


class DaemonDown(AdminError):
    """Nobody answers on the socket."""

    code = "daemon_down"


class AccessDenied(AdminError):
    """This user may not use the socket; whether a daemon is there is not known."""

    code = "access_denied"


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
class UserRef:
    name: str


@dataclass(frozen=True, slots=True)
class ErasedUser:
    """What is left: the id, which certificates and the ledger lead to, for a name too. `keys` were revoked; so many
    `facts`, found in what the user said, are deleted."""

    user: Named
    keys: int
    facts: int


@dataclass(frozen=True, slots=True)
class UserList:
    users: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """`used_milli`: thousandths of a question in this month so far, None where the answer is not about that."""

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
    used_milli: int | None = None


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
    """The model that a role is to have.

    `seen`, here and below, is the `revision` that was looked at: where somebody has changed it since, nothing is
    changed. None changes it whatever it is.
    """

    name: str
    seen: int | None = None


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
    """`revision` grows with every change of a role's model."""

    roles: tuple[RoleModel, ...]
    machines: tuple[Machine, ...]
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model in use takes on one machine, for its `roles`. `tokens`: the context that a call gets there;
    `longest`: what the model was made for. None where it is not known."""

    machine: str
    model: str
    roles: tuple[str, ...]
    tokens: int | None
    longest: int | None


@dataclass(frozen=True, slots=True)
class ContextList:
    contexts: tuple[ModelContext, ...]


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
    """`pid` is the daemon's process. `backup`: when the newest one of this installation was made, None for never."""

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
    backup: str | None = None


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
    while `set` is false. `names` and `ignored` count the administrator's own. `revision` grows with every change of
    the mode."""

    mode: ShieldMode
    set: bool
    configured: ShieldMode
    categories: tuple[str, ...]
    country: str
    names: int
    ignored: int
    revision: int = 0


@dataclass(frozen=True, slots=True)
class NewShieldMode:
    mode: ShieldMode
    seen: int | None = None


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
