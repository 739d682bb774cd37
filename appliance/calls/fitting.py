"""Which machines have room for a prompt: the same model can have a longer context on one than on another.

Counts are tokens. Source: cluster.md, "Choosing a machine": a prompt that does not fit goes to a machine with a larger
context or is refused, and is never cut.
"""

from collections.abc import Iterable

from appliance.calls.context import surely_too_long
from appliance.cluster.contexts import Contexts
from appliance.cluster.machine import Machine
from appliance.errors import ContextLengthExceeded


class Fitting:
    """Of one prompt on one model: `estimate` of its tokens, in so many `turns`."""

    def __init__(self, contexts: Contexts, model: str, *, estimate: int, turns: int) -> None:
        self._contexts = contexts
        self._model = model
        self._estimate = estimate
        self._turns = turns
        self._above = 0
        self._wanted = 0

    def look(self, machines: Iterable[Machine]) -> None:
        """Find out how much room there is. While one machine has room for the whole estimate, only such do.

        Raises:
            ContextLengthExceeded: no machine that has the model has enough, by far.
        """
        known = [context for machine in machines if machine.healthy and (context := self._context(machine)) is not None]
        self._wanted = self._estimate if any(self._has(context, self._estimate) for context in known) else 0
        if known and all(self._is_hopeless(context) for context in known):
            raise self.exceeded(max(known))

    def fits(self, machine: Machine) -> bool:
        context = self._context(machine)
        if context is None:
            return False
        larger = not context or context > self._above
        return larger and self._has(context, self._wanted) and not self._is_hopeless(context)

    def refused_at(self, context: int) -> None:
        """A machine says that the prompt is longer than this."""
        self._above = max(self._above, context)
        self._wanted = 0

    def larger(self, context: int, machines: Iterable[Machine]) -> bool:
        """Whether one of them has more room than this."""
        known = (self._context(machine) for machine in machines if machine.healthy)
        return any(other is not None and (not other or other > context) for other in known)

    def exceeded(self, context: int) -> ContextLengthExceeded:
        tokens = max(self._estimate, context + 1)
        return ContextLengthExceeded(
            f"This model's maximum context length is {context} tokens, but the messages came to about {tokens} tokens.",
            advice="Shorten the messages, or have the administrator give the model a longer context ([local] context,"
            " or its server's own setting).",
            param="messages",
            tokens=tokens,
            maximum=context,
        )

    def _context(self, machine: Machine) -> int | None:
        """What the model has there, 0 where that is not known; None where the machine does not have the model."""
        model = machine.find(self._model)
        return None if model is None else self._contexts.of(machine, model)

    def _has(self, context: int, tokens: int) -> bool:
        return not context or context >= tokens

    def _is_hopeless(self, context: int) -> bool:
        return bool(context) and surely_too_long(self._estimate, self._turns, context)
