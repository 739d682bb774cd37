"""The policy in force at this moment: the static settings, what administrators have set, and what machines have."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from appliance.calls.policy import AppMode, LocalModels, Policy, ShieldMode
from appliance.cluster.machine import Machine, default_model


class LivePolicy:
    """Call it for the policy. A change holds from the next call on."""

    def __init__(
        self, *, app_mode: AppMode, shield_mode: ShieldMode, machines: Callable[[], tuple[Machine, ...]]
    ) -> None:
        self._policy = Policy(app_mode=app_mode, shield_mode=shield_mode)
        self._machines = machines

    def set_local_models(self, names: Mapping[str, str]) -> None:
        """`names` is by role; a role that is missing is left to its fall-back."""
        self._policy = replace(self._policy, local=LocalModels(**names))

    def set_shield_mode(self, mode: ShieldMode) -> None:
        self._policy = replace(self._policy, shield_mode=mode)

    def __call__(self) -> Policy:
        policy = self._policy
        return replace(policy, local=replace(policy.local, found=default_model(self._machines())))
