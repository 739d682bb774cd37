"""How an attempt at a machine that speaks like OpenAI failed, in words for the caller and for who runs the machine.

Knows no machine by name, since a caller is not told which one it was; no text quotes the machine's key.
Source: gateway.md ("Errors"); cluster.md, "Choosing a machine" (what another machine may do better).
"""

from collections.abc import Mapping

from appliance.dialects.upstream import ProviderError
from appliance.errors import (
    BadRequest,
    CallError,
    ContextLengthExceeded,
    LocalLaneUnavailable,
    Overloaded,
    RequestTooLarge,
    UpstreamFailed,
)
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.endpoint import without
from appliance.lanes.limits import Limit

_LIST = "`synapse node list` says how the machines are."
_AGAIN = f"Try again; {_LIST}"
_SERVER = f"Check its server and the address that it was added with; {_LIST}"

_WORDS = {
    "first_byte": (
        "The machine sent nothing for",
        "It may have too much to do: try again, or raise [timeouts] first_byte.",
    ),
    "idle": ("In the middle of its answer the machine fell silent for", _AGAIN),
    "total": ("The whole call took longer than", "Ask for less, or raise [timeouts] total."),
}
"""What is said when a limit passes: a beginning, to which the time is added, and an advice."""

_OURS = frozenset({"key", "model", "busy", "failed"})
"""Complaints that are of the machine and not of the request, so that another one may answer."""


class MachineFailures:
    """The failures of attempts at one machine; `headers` are those with its key."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._secrets = tuple(headers.values())

    def unreachable(self, why: str) -> AttemptFailed:
        """It got none of our bytes."""
        error = LocalLaneUnavailable(
            f"A machine that runs models cannot be reached: {why}.",
            advice=f"Check that its server is running; {_LIST}",
        )
        return AttemptFailed(error, elsewhere=True, reached=False, severed=True)

    def passed(self, limit: Limit) -> AttemptFailed:
        return limit.passed(_WORDS)

    def redirected(self) -> AttemptFailed:
        """It pointed elsewhere, and nobody but the machine itself may get a prompt."""
        error = UpstreamFailed("The machine answered with a redirect, which is not followed.", advice=_SERVER)
        return AttemptFailed(error, elsewhere=True)

    def refused(self, refusal: ProviderError, status: int) -> AttemptFailed:
        """It answered with a status other than 200."""
        elsewhere = refusal.kind in ("key", "model") or status in (404, 429) or status >= 500
        return AttemptFailed(self._error(refusal), elsewhere=elsewhere)

    def told(self, error: ProviderError) -> AttemptFailed:
        return AttemptFailed(self._error(error), elsewhere=error.kind in _OURS)

    def died(self, how: str, *, severed: bool = False) -> AttemptFailed:
        error = UpstreamFailed(f"The machine failed while it answered: {how}.", advice=_AGAIN)
        return AttemptFailed(error, elsewhere=True, severed=severed)

    def unfinished(self, content_type: str) -> AttemptFailed:
        if content_type == "text/event-stream":
            return self.died("its answer ended before it was done")
        error = UpstreamFailed("The machine did not answer with a stream of events.", advice=_SERVER)
        return AttemptFailed(error, elsewhere=True)

    def _error(self, said: ProviderError) -> CallError:
        text = self._shown(said.message)
        match said.kind:
            case "key":
                return UpstreamFailed(
                    "The machine refuses the key that it was added with.",
                    advice=f"The administrator has to add it again with the right one; {_LIST}",
                )
            case "model":
                return LocalLaneUnavailable(
                    f"The machine does not have the model any more: {text}",
                    advice="Load it there, or choose another model with `synapse model set full NAME`.",
                )
            case "request":
                return BadRequest(
                    f"The machine cannot serve this request: {text}",
                    advice="Leave that out, or ask the administrator for a model that can do it.",
                    param=None if said.param is None else self._shown(said.param),
                )
            case "size":
                return RequestTooLarge(
                    f"The machine does not take a request of this size: {text}",
                    advice="Shorten it, or send smaller pictures.",
                )
            case "context":
                tokens, maximum = said.overflow or (None, None)
                return ContextLengthExceeded(
                    text,
                    advice="Shorten the messages, ask for a shorter answer, or have the administrator give the "
                    "machine's server a longer context.",
                    param="messages",
                    tokens=tokens,
                    maximum=maximum,
                )
            case "busy":
                return Overloaded(f"The machine is busy: {text}", advice="Try again in a moment.")
            case "failed":
                return UpstreamFailed(
                    f"The machine reported an error: {text}", advice="Try again; its own log says more."
                )

    def _shown(self, text: str) -> str:
        for secret in self._secrets:
            text = without(text, secret)
        return text
