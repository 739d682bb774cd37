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

    def check(self, machines: Iterable[Machine]) -> None:
        """Raises ContextLengthExceeded: no machine that has the model has enough room, by far."""
        known = self._contexts_of(machines)
        if known and all(self._is_hopeless(context) for context in known):
            raise self.exceeded(max(known))

    def look(self, machines: Iterable[Machine]) -> None:
        """These can be asked now. While one of them has room for the whole estimate, only such do."""
        known = self._contexts_of(machines)
        self._wanted = self._estimate if any(self._may(context, self._estimate) for context in known) else 0

    def fits(self, machine: Machine) -> bool:
        context = self._context(machine)
        return context is not None and self._may(context, self._wanted)

    def refused_at(self, context: int) -> None:
        """A machine says that the prompt is longer than this, 0 where it does not say than what."""
        self._above = max(self._above, context)

    def larger(self, machines: Iterable[Machine]) -> bool:
        """Whether one of them may have room, after all that was refused."""
        return any(self._may(context, 0) for context in self._contexts_of(machines))

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

    def _contexts_of(self, machines: Iterable[Machine]) -> list[int]:
        return [context for machine in machines if machine.healthy and (context := self._context(machine)) is not None]

    def _may(self, context: int, tokens: int) -> bool:
        """Whether there may be room for so many, by what is known of the prompt."""
        return not context or (context >= tokens and context > self._above and not self._is_hopeless(context))

    def _is_hopeless(self, context: int) -> bool:
        return bool(context) and surely_too_long(self._estimate, self._turns, context)
