"""What the admin API and its client say to each other about providers and policy: frozen shapes, as in `wire`.

Money is in micro-dollars for a million tokens. No shape that goes out of the daemon has a place for a key.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

ProviderKind = Literal["openai", "anthropic", "mistral", "openai-compatible"]
"""The dialect that a provider speaks (operations.md, "Commands")."""

RefuseOrAllow = Literal["refuse", "allow"]

PROVIDER_KINDS: tuple[ProviderKind, ...] = get_args(ProviderKind)
REFUSE_OR_ALLOW: tuple[RefuseOrAllow, ...] = get_args(RefuseOrAllow)


@dataclass(frozen=True, slots=True)
class NewProvider:
    """A provider to be added, or changed where there is one of this name.

    None stands for what is kept: of a new provider the kind's own URL, and no model. A key may be left out only for
    a provider that stays of the same kind at the same URL.

    `seen`, here and below, is the `revision` of what was looked at: where somebody has changed it since, nothing is
    changed. None changes it whatever it is.
    """

    name: str
    kind: ProviderKind
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    full: str | None = None
    fast: str | None = None
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """Micro-dollars for a million tokens."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider. `configured`: it has the full model that every call can fall back to. A price is None where it
    is not known."""

    name: str
    kind: ProviderKind
    base_url: str
    full: str | None
    fast: str | None
    created: str
    configured: bool
    full_price: Price | None = None
    fast_price: Price | None = None


@dataclass(frozen=True, slots=True)
class ProviderList:
    """`revision` grows with every change of a provider."""

    providers: tuple[Provider, ...]
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ProviderRef:
    name: str


@dataclass(frozen=True, slots=True)
class OldProvider:
    """A provider to be removed."""

    name: str
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class PutProvider:
    """A provider after it was added or changed; `before` is None for one that is new."""

    provider: Provider
    before: Provider | None
    new_key: bool


@dataclass(frozen=True, slots=True)
class RemovedProvider:
    """A provider that is gone. `active`: calls without an allow-list went to it. `listed` are the workspaces whose
    list still names it, `refused` those of them whose list names nobody else that is configured."""

    provider: Provider
    active: bool
    listed: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProviderCheck:
    """What a trial call to a provider said. `problem` and `advice` are a sentence each, "" where all is well."""

    ok: bool
    problem: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class NewAllowList:
    """Whom a workspace may use, best first. None stands for the default workspace."""

    providers: tuple[str, ...]
    workspace: str | None = None
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class NewActive:
    provider: str
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class NewChoice:
    value: RefuseOrAllow
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy in force for a workspace.

    `active` is where calls go while there is no list. `full` and `fast` are who answers such calls, as
    `provider/model`, each after the ones before it have failed; `skipped` are providers that are named and cannot
    answer. `explained` says what that means, in whole sentences. `revision` grows with every change of it.
    """

    workspace: str
    app_mode: Literal["local", "cloud"]
    shield_mode: str
    active: str
    allow: tuple[str, ...] | None
    unscannable: RefuseOrAllow
    sensitive_on_open: RefuseOrAllow
    full: tuple[str, ...]
    fast: tuple[str, ...]
    skipped: tuple[str, ...]
    explained: tuple[str, ...]
    revision: int = 0
