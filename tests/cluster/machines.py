"""Machines as the scheduler sees them, for tests."""

from appliance.cluster.machine import Machine, Model


def machine(
    name: str, *, models: tuple[str, ...] = ("m",), healthy: bool = True, loaded: tuple[str, ...] = ()
) -> Machine:
    listed = tuple(Model(one, "d", 1, frozenset({"completion"}), remote=False) for one in models)
    return Machine(name, name, f"http://{name}", "open", "ollama/1", healthy, "", listed, dict.fromkeys(loaded, 4096))


def first() -> float:
    return 0.0
