"""The one context length of each model on each machine: another value, or none, would make Ollama load it again.

Chosen when a model is first used on a machine, and kept (cluster.md, "Choosing a machine"; dialects.md §2, "Context").
"""

from appliance.cluster.machine import Machine, Model, canonical

DEFAULT_CONTEXT = 8192
"""Tokens for a model that is not loaded yet: long enough for a contract, and within 8 GB of most models' memory."""


class Contexts:
    """`least`: tokens that a model has at least, as far as it can; 0 leaves it what it is loaded with."""

    def __init__(self, least: int = 0) -> None:
        self._least = least
        self._chosen: dict[tuple[str, str], int] = {}

    def of(self, machine: Machine, model: Model) -> int:
        """Tokens of context to send with every call: what it is loaded with, else the default as far as it can.

        Of a server whose context is its own affair: what it says that it is, 0 where it does not.
        """
        tokens = self.expected(machine, model)
        if machine.kind == "ollama":
            self._chosen[machine.id, model.digest] = tokens
        return tokens

    def expected(self, machine: Machine, model: Model) -> int:
        """What `of` would give now, without choosing it."""
        if machine.kind != "ollama":
            return model.context_length or 0
        if (chosen := self._chosen.get((machine.id, model.digest))) is not None:
            return chosen
        wanted = self._least or DEFAULT_CONTEXT
        able = min(wanted, model.context_length or wanted)
        loaded = machine.loaded.get(canonical(model.name), 0)
        return max(loaded, able) if self._least else loaded or able
