"""What a provider's dialect has to say of one attempt: the request, what reads its stream, what its errors mean.

The lane that sends it knows HTTP and no dialect; a dialect knows no HTTP. Pure.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from appliance.dialects.chat import Event

ErrorKind = Literal["key", "model", "request", "size", "context", "busy", "failed"]
"""What a provider complains of: our key, a model that it does not have, the request itself, that it is too many bytes,
a prompt that is too long, too much to do (rate limits, overload), or anything else that is its own fault."""


class ProviderError(Exception):
    """A provider said that it cannot answer, or what it said is not its dialect.

    `message` is one sentence for the caller, which never quotes a key. `param` names the request's field, where one
    is to blame. `overflow`: the prompt's tokens and the most that there may be, where a `context` error tells them.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, param: str | None = None, overflow: tuple[int, int] | None = None
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.param = param
        self.overflow = overflow


def too_long(tokens: int, maximum: int, more: str = "") -> ProviderError:
    """The error of a prompt longer than the model's context, in the words that clients match; `more` goes on after
    them."""
    message = (
        f"This model's maximum context length is {maximum} tokens, but the messages came to {tokens} tokens{more}."
    )
    return ProviderError("context", message, param="messages", overflow=(tokens, maximum))


class Reader(Protocol):
    """Reads the server-sent events of one answer, in order."""

    @property
    def finished(self) -> bool:
        """Whether the answer has its end, with usage if the provider sends one; what comes after it is not read."""
        ...

    def read(self, event: str, data: str) -> Iterable[Event]:
        """The neutral events of one server-sent event; `event` is its name, "" without one. Raises ProviderError."""
        ...


class Refusals(Protocol):
    """What a status other than 200 means, by the body that came with it."""

    def __call__(self, status: int, body: bytes) -> ProviderError: ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One attempt. `path` goes after the provider's base URL; `headers` hold no key, which the lane adds. `reader`
    makes what reads one answer, for each time that the body is sent."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    reader: Callable[[], Reader]
    refusal: Refusals
