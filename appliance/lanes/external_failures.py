"""How an attempt at an external provider failed, in words for the caller and, where it is ours to mend, for the
administrator. No text quotes the key, even where the provider does.

Source: gateway.md ("Errors"); routing.md ("Choice", 5): after a connection error, a 429 or a 5xx the next may answer.
"""

from appliance.dialects.upstream import ProviderError
from appliance.errors import (
    BadRequest,
    CallError,
    ContextLengthExceeded,
    Overloaded,
    RequestTooLarge,
    UpstreamFailed,
    UpstreamTimeout,
)
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.endpoint import Endpoint, redirect_host
from appliance.lanes.external_connections import ConnectionFailure
from appliance.lanes.limits import Limit

MAX_SHOWN_CHARACTERS = 100
"""Of what a server wrote into a header."""

_EVENTS = "text/event-stream"
_AGAIN = "Try again in a moment."
_TIMED_OUT = (408, 504)


class Failures:
    """The failures of attempts at one provider."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._provider = f"provider {endpoint.name!r}"
        self._test = f"The administrator can find out more with `synapse provider test {endpoint.name}`."

    def unreachable(self, failure: ConnectionFailure) -> AttemptFailed:
        """No answer came."""
        kind = UpstreamTimeout if failure.why == "limit" else UpstreamFailed
        error = kind(f"The {self._provider} cannot be reached: {failure.said}.", advice=failure.advice)
        return AttemptFailed(error, elsewhere=True, reached=failure.reached)

    def passed(self, limit: Limit) -> AttemptFailed:
        """A limit fired."""
        return limit.passed(
            {
                "first_byte": (
                    f"The {self._provider} sent nothing for",
                    "Try again, or raise [timeouts] first_byte.",
                ),
                "idle": (f"In the middle of its answer the {self._provider} fell silent for", _AGAIN),
                "total": ("The whole call took longer than", "Ask for less, or raise [timeouts] total."),
            }
        )

    def redirected(self, location: str) -> AttemptFailed:
        """It pointed elsewhere, and nobody but the configured host may get a prompt."""
        host = self._endpoint.without_key(redirect_host(location))
        to = f" to {host}" if host else ""
        error = UpstreamFailed(
            f"The {self._provider} answered with a redirect{to}, and redirects are not followed.",
            advice=f"Its base URL has to be the address that answers. {self._test}",
        )
        return AttemptFailed(error, elsewhere=False)

    def refused(self, refusal: ProviderError, status: int, asked: float | None) -> AttemptFailed:
        """It answered with a status other than 200; `asked` are the seconds of its `Retry-After`."""
        if refusal.kind == "failed" and status in _TIMED_OUT:
            error = UpstreamTimeout(f"The {self._provider} timed out: {self._said(refusal)}", advice=_AGAIN)
            return AttemptFailed(error, elsewhere=status >= 500)
        return AttemptFailed(self._error(refusal, asked), elsewhere=status == 429 or status >= 500)

    def told(self, error: ProviderError) -> AttemptFailed:
        """What it said in its stream, or what it said was not its dialect."""
        return AttemptFailed(self._error(error, None), elsewhere=error.kind in ("busy", "failed"))

    def died(self, how: str, *, severed: bool = False) -> AttemptFailed:
        error = UpstreamFailed(f"The {self._provider} failed while it answered: {how}.", advice=_AGAIN)
        return AttemptFailed(error, elsewhere=True, severed=severed)

    def unfinished(self, content_type: str) -> AttemptFailed:
        """Its stream ended, or it never was one."""
        if content_type == _EVENTS:
            return self.died("its answer ended before it was done")
        shown = content_type[:MAX_SHOWN_CHARACTERS] if content_type.isprintable() else "something else"
        error = UpstreamFailed(
            f"The {self._provider} answered with {shown} instead of a stream of events.",
            advice=f"Its base URL may be wrong. {self._test}",
        )
        return AttemptFailed(error, elsewhere=True)

    def _error(self, said: ProviderError, asked: float | None) -> CallError:
        text = self._said(said)
        match said.kind:
            case "key":
                return UpstreamFailed(f"The {self._provider} refused the gateway: {text}", advice=self._test)
            case "model":
                return UpstreamFailed(
                    f"The {self._provider} does not have the model that is set for it: {text}",
                    advice=f"Set another with `synapse provider add … --full MODEL`. {self._test}",
                )
            case "request":
                return BadRequest(
                    f"The {self._provider} cannot serve this request: {text}",
                    advice="Change that, or ask the administrator for a model that can do it.",
                    param=self._field(said),
                )
            case "size":
                return RequestTooLarge(
                    f"The {self._provider} does not take a request of this size: {text}",
                    advice="Shorten it, or send smaller pictures and files.",
                )
            case "context":
                tokens, maximum = said.overflow or (None, None)
                return ContextLengthExceeded(
                    text,
                    advice="Shorten the messages.",
                    param=self._field(said) or "messages",
                    tokens=tokens,
                    maximum=maximum,
                )
            case "busy":
                return Overloaded(f"The {self._provider} is busy: {text}", advice=_AGAIN, retry_after=asked)
            case "failed":
                return UpstreamFailed(f"The {self._provider} reported an error: {text}", advice=_AGAIN)

    def _said(self, error: ProviderError) -> str:
        return self._endpoint.without_key(error.message)

    def _field(self, error: ProviderError) -> str | None:
        """The field that is to blame; a provider can write anything into it."""
        return None if error.param is None else self._endpoint.without_key(error.param)
