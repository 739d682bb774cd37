"""How many questions an answer counts, by the class of the model that answered (routing.md, "Metering")."""

from typing import Literal

ModelClass = Literal["local", "fast", "full"]

QUESTIONS_MILLI: dict[ModelClass, int] = {"local": 250, "fast": 1_000, "full": 4_000}
"""Thousandths of a question per answer."""


def charged(model_class: ModelClass, *, ending: str, completion_tokens: int) -> int:
    """Thousandths of a question for one call.

    A failed or refused call is free; one that the client left is charged if the model had begun to answer.
    """
    if ending in ("failed", "refused") or (ending == "cancelled" and not completion_tokens):
        return 0
    return QUESTIONS_MILLI[model_class]
