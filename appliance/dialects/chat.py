"""The neutral form of a chat call and of the events that answer it: what every dialect and lane can say.

Only a call that changes dialect goes through it. Values are what the caller wrote: nothing is
defaulted, trimmed or added here.
"""

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]
"""Who wrote a message; OpenAI's `developer` is `system` here."""

FinishReason = Literal["stop", "length"]
"""Why the model stopped: by itself or at a stop sequence, or at the output ceiling."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample. `None` and `()` mean that the caller did not say, and nothing is sent."""

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model reported them."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The model's own end of its answer: the last event of every whole stream."""

    reason: FinishReason
    usage: Usage


Event = TextDelta | Finish


class DialectError(Exception):
    """A body that the dialect cannot say. `param` names the field, as in `messages[0].role`."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
