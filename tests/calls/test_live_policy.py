from appliance.calls.live_policy import LivePolicy
from appliance.calls.policy import fingerprint
from appliance.cluster.machine import Machine, Model


def machine(*models: str) -> Machine:
    listed = tuple(Model(name, "d", 1, frozenset({"completion"}), remote=False) for name in models)
    return Machine("m", "m", "http://127.0.0.1:1", "loopback", healthy=True, models=listed)


def test_the_machines_own_model_stands_in_until_one_is_set():
    machines = [machine("found")]
    policy = LivePolicy(app_mode="local", shield_mode="standard", machines=lambda: tuple(machines))
    assert [policy().local.for_tier(tier) for tier in ("full", "fast", "local")] == ["found"] * 3
    policy.set_local_models({"full": "set", "fast": "quick"})
    assert [policy().local.for_tier(tier) for tier in ("full", "fast", "local")] == ["set", "quick", "set"]
    policy.set_local_models({})
    assert policy().local.for_tier("full") == "found"
    machines.clear()
    assert policy().local.for_tier("full") is None


def test_what_the_machines_have_does_not_change_the_policys_fingerprint():
    machines = [machine("one")]
    policy = LivePolicy(app_mode="local", shield_mode="standard", machines=lambda: tuple(machines))
    before = fingerprint(policy())
    machines[:] = [machine("two")]
    assert fingerprint(policy()) == before
    policy.set_local_models({"full": "two"})
    assert fingerprint(policy()) != before
