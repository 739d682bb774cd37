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


def is_charged(*, ending: str, completion_tokens: int) -> bool:
    """Whether a call counts. A failed or refused one is free; one that the client left counts if the model had begun to
    answer."""
    return ending not in ("failed", "refused") and (ending != "cancelled" or completion_tokens > 0)
