"""How many questions an answer counts, by the class of the model that answered (routing.md, "Metering")."""

from dataclasses import dataclass
from typing import Literal

ModelClass = Literal["local", "fast", "full"]


@dataclass(frozen=True, slots=True)
class Rates:
    """Thousandths of a question for one answer."""

    local: int = 250
    fast: int = 1_000
    full: int = 4_000

    def milli(self, model_class: ModelClass, answers: int = 1) -> int:
        """Of so many answers to one call."""
        return {"local": self.local, "fast": self.fast, "full": self.full}[model_class] * answers


def counted(ending: str, *, asked: int, given: int, begun: bool) -> int:
    """How many answers of a call count.

    All that were asked for, of a call that ended well; of one that the client left, if a model had `begun` to answer.
    Of one that failed or was refused those that were `given` whole all the same: a caller that could make its answers
    fail at their ends would have them for nothing.
    """
    if ending in ("failed", "refused"):
        return min(given, asked)
    return asked if ending != "cancelled" or begun else 0
