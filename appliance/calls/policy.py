"""What the administrator allows: the settings that decide where a call may go, as one frozen value per workspace.

Must not know a call's text, a machine's state or where the settings are stored; holds no secret.
Source: synapse.md ("Providers and administrator policy", "Sensitive calls"), routing.md ("Settings that decide").
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

import orjson

from appliance.errors import ProviderNotAllowed

AppMode = Literal["local", "cloud"]
ShieldMode = Literal["standard", "medical", "off"]
RefuseOrAllow = Literal["refuse", "allow"]
Tier = Literal["fast", "full", "local"]

LOCAL_PROVIDER = "ollama"
"""Name and kind of everything that stays in the building, whatever software answers (gateway.md, "Headers")."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One party that can answer. `local` is true of the local lane alone; `full` and `fast` are model names."""

    name: str
    kind: str
    full: str | None
    fast: str | None
    local: bool

    @property
    def label(self) -> str:
        """How the outside is told who answered: the kind, which says nothing for `openai-compatible`."""
        return self.name if self.kind == "openai-compatible" else self.kind

    @property
    def configured(self) -> bool:
        """Whether it can serve every tier: the lane asks its machines what they have, others need a full model."""
        return self.local or self.full is not None

    @property
    def distinct_fast(self) -> str | None:
        """The fast model, where it is another one than the full."""
        return self.fast if self.fast != self.full else None


@dataclass(frozen=True, slots=True)
class LocalModels:
    """The local lane's models as set. `found` stands in for a full model that is not: the machines' own best."""

    full: str | None = None
    fast: str | None = None
    local: str | None = None
    embedding: str | None = None
    found: str | None = None

    def for_tier(self, tier: Tier) -> str | None:
        """The tier's model: fast and local fall back to full; None where there is none at all."""
        return {"full": None, "fast": self.fast, "local": self.local}[tier] or self.full or self.found

    def by_role(self) -> dict[str, str]:
        """The models that calls ask for, by role; a role without one is not there."""
        tiers: tuple[Tier, ...] = ("full", "fast", "local")
        named = {**{tier: self.for_tier(tier) for tier in tiers}, "embedding": self.embedding}
        return {role: model for role, model in named.items() if model}


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy in force for one workspace. `providers` are the external ones by name; the lane needs no entry.

    `allow` is the workspace's ordered allow-list, None until an administrator writes one.
    """

    app_mode: AppMode = "local"
    active: str = LOCAL_PROVIDER
    allow: tuple[str, ...] | None = None
    providers: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    local: LocalModels = LocalModels()
    shield_mode: ShieldMode = "standard"
    unscannable: RefuseOrAllow = "refuse"
    sensitive_on_open: RefuseOrAllow = "refuse"


def local_lane(policy: Policy) -> Provider:
    """The installation's own machines, as the provider `ollama`."""
    return Provider(LOCAL_PROVIDER, LOCAL_PROVIDER, policy.local.for_tier("full"), policy.local.fast, local=True)


def active_provider(policy: Policy) -> str:
    """Writing an allow-list makes its first entry the active provider."""
    return policy.allow[0] if policy.allow else policy.active


def local_lane_exists(policy: Policy) -> bool:
    """Whether a sensitive call has a place to stay, and therefore must stay there."""
    return policy.app_mode == "local" or active_provider(policy) == LOCAL_PROVIDER


def reachable(policy: Policy, sensitive: bool) -> tuple[Provider, ...]:
    """The providers that a call may reach, in the administrator's order; never empty.

    Raises ProviderNotAllowed where the allow-list, or the active provider without one, names nobody configured.
    """
    if sensitive:
        return (local_lane(policy),)
    names = policy.allow if policy.allow is not None else (policy.active,)
    found = tuple(provider for name in dict.fromkeys(names) if (provider := _configured(policy, name)) is not None)
    if found:
        return found
    if policy.allow is None:
        raise ProviderNotAllowed(
            "The active provider is not configured.",
            advice="Add it with `synapse provider add`, or choose another with `synapse policy active`.",
        )
    raise ProviderNotAllowed(
        "None of the providers that this workspace may use is configured.",
        advice="Add one with `synapse provider add`, or change the list with `synapse policy allow`.",
    )


def full_model(policy: Policy) -> str | None:
    """The full model in force: of the first provider that calls go to. None where there is no provider or model."""
    try:
        return reachable(policy, sensitive=False)[0].full
    except ProviderNotAllowed:
        return None


def _configured(policy: Policy, name: str) -> Provider | None:
    # The lane first: no external provider can take its name and be called local.
    provider = local_lane(policy) if name == LOCAL_PROVIDER else policy.providers.get(name)
    return provider if provider is not None and provider.configured else None


def fingerprint(policy: Policy) -> str:
    """Hex SHA-256 over the policy as canonical JSON (RFC 8785), which a certificate records as `gateway.policy`.

    What the machines have is no policy: it changes by itself.
    """
    fields = {
        "active": policy.active,
        "allow": policy.allow,
        "app_mode": policy.app_mode,
        "local": {role: model for role, model in asdict(policy.local).items() if role != "found"},
        # A list, since names may be of any script and RFC 8785 orders keys by UTF-16.
        "providers": [asdict(provider) for _, provider in sorted(policy.providers.items())],
        "sensitive_on_open": policy.sensitive_on_open,
        "shield_mode": policy.shield_mode,
        "unscannable": policy.unscannable,
    }
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()
