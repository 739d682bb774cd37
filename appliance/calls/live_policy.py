"""The policy in force at this moment: the static settings, what administrators have set, and what machines have."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from appliance.calls.policy import LOCAL_PROVIDER, AppMode, LocalModels, Policy, Provider, RefuseOrAllow, ShieldMode
from appliance.cluster.machine import Machine, default_model
from appliance.store import allow_lists, live_settings, providers


@dataclass(frozen=True, slots=True)
class Rules:
    """What administrators have set, of every workspace. `allow` is by the workspace's row number."""

    active: str = LOCAL_PROVIDER
    allow: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    providers: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    unscannable: RefuseOrAllow = "refuse"
    sensitive_on_open: RefuseOrAllow = "refuse"


def rules(conn: sqlite3.Connection) -> Rules:
    """The rules that the database holds. What was never set, or cannot be read as what it must be, is the default."""
    active = live_settings.get(conn, live_settings.ACTIVE_PROVIDER)
    return Rules(
        active=active if isinstance(active, str) else LOCAL_PROVIDER,
        allow=allow_lists.all_lists(conn),
        providers={
            row.name: Provider(row.name, row.kind, row.full, row.fast, local=False) for row in providers.list_all(conn)
        },
        unscannable=_refuse_or_allow(conn, live_settings.UNSCANNABLE),
        sensitive_on_open=_refuse_or_allow(conn, live_settings.SENSITIVE_ON_OPEN),
    )


class LivePolicy:
    """Call it for the policy. A change holds from the next call on."""

    def __init__(
        self, *, app_mode: AppMode, shield_mode: ShieldMode, machines: Callable[[], tuple[Machine, ...]]
    ) -> None:
        self._policy = Policy(app_mode=app_mode, shield_mode=shield_mode)
        self._allow: Mapping[int, tuple[str, ...]] = {}
        self._machines = machines

    def set_local_models(self, names: Mapping[str, str]) -> None:
        """`names` is by role; a role that is missing is left to its fall-back."""
        self._policy = replace(self._policy, local=LocalModels(**names))

    def set_shield_mode(self, mode: ShieldMode) -> None:
        self._policy = replace(self._policy, shield_mode=mode)

    def set_rules(self, rules: Rules) -> None:
        self._allow = rules.allow
        self._policy = replace(
            self._policy,
            active=rules.active,
            providers=rules.providers,
            unscannable=rules.unscannable,
            sensitive_on_open=rules.sensitive_on_open,
        )

    def __call__(self, workspace_n: int | None = None) -> Policy:
        """The policy of the workspace with this row number; without one, that of a workspace without a list."""
        policy = self._policy
        allow = None if workspace_n is None else self._allow.get(workspace_n)
        return replace(policy, allow=allow, local=replace(policy.local, found=default_model(self._machines())))


def _refuse_or_allow(conn: sqlite3.Connection, name: str) -> RefuseOrAllow:
    value = live_settings.get(conn, name)
    return "allow" if value == "allow" else "refuse"
