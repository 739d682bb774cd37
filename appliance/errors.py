"""The one hierarchy of errors, each with a stable code, a sentence for people and a next step.

SynapseError
├── ConfigError          a setting is missing, unknown or wrong
├── StateError           the state directory or the database cannot be used
├── EngineError          the embedded engine or its model cannot be used
├── AdminError           a command was refused: not found, a conflict, the daemon is down
├── ProofError           a certificate, key file or log is not what it must be
└── CallError            a call ends without an answer; `code` decides its HTTP status
    ├── BadRequest, NotFound, MethodNotAllowed                     the request itself
    │       └── AmbiguousLength                                    of BadRequest: two lengths
    ├── RequestTooLarge, BodyStalled                               its body
    │       └── BodyTooLarge                                       of RequestTooLarge: the gateway has not read it
    ├── NotAuthenticated, ScopeDenied, ReadOnlyKey                 the key
    ├── UnknownAgent, AddressNotSupported                          the address
    ├── RateLimited                                                how often it may ask
    ├── BudgetExceeded                                             how much it may ask
    │       └── KeyCeilingReached, AllowanceExhausted
    ├── ProviderNotAllowed, LocalLaneUnavailable, Overloaded       where it may run
    ├── UnscannableContent                                         what may not leave
    │       └── ModelAbsent                                        of LocalLaneUnavailable: nobody has the model
    ├── ContextLengthExceeded, UpstreamFailed, UpstreamTimeout     what the model's side said
    └── StorageUnavailable                                         what we could not record

Nothing here knows HTTP: `gateway.errors` alone maps a code to a status and a dialect's shape.
"""

from datetime import datetime
from typing import ClassVar


class SynapseError(Exception):
    """Base of all expected errors. `message` says what happened, `advice` what to do next."""

    code: ClassVar[str] = "internal_error"

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        if not self.advice:
            return self.message
        # What a machine or a library says often ends without a full stop.
        end = "" if self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{end} {self.advice}"


class ConfigError(SynapseError):
    code = "config_error"


class StateError(SynapseError):
    code = "state_error"


class EngineError(SynapseError):
    code = "engine_error"


class AdminError(SynapseError):
    code = "admin_error"


class ProofError(SynapseError):
    code = "proof_error"


class CallError(SynapseError):
    """A call that ends without an answer. `param` names the request's field, where one is to blame.

    `broken`: somebody broke; else the call was refused, by our decision or the model's side.
    """

    code = "upstream_error"
    broken: ClassVar[bool] = False

    def __init__(self, message: str, *, advice: str = "", param: str | None = None) -> None:
        super().__init__(message, advice=advice)
        self.param = param


class BadRequest(CallError):
    code = "invalid_request_error"


class AmbiguousLength(BadRequest):
    """The request can be read in two ways, and so can what follows it on its connection."""


class NotFound(CallError):
    code = "not_found"


class MethodNotAllowed(CallError):
    code = "method_not_allowed"


class RequestTooLarge(CallError):
    """The request has more bytes than whoever would have to read it takes."""

    code = "request_too_large"


class BodyTooLarge(RequestTooLarge):
    """The gateway does not take it, and leaves the rest of it unread."""


class BodyStalled(CallError):
    """The client does not send its body, or too slowly."""

    code = "request_timeout"


class NotAuthenticated(CallError):
    code = "invalid_api_key"


class ScopeDenied(CallError):
    code = "scope_denied"


class ReadOnlyKey(CallError):
    code = "read_only_key"


class UnknownAgent(CallError):
    code = "model_not_found"


class AddressNotSupported(CallError):
    code = "address_not_supported"


class RateLimited(CallError):
    """More than `limit` requests in a minute. `retry_after`: whole seconds until one is let through again; `reset`:
    seconds until all are, which is at `reset_at`."""

    code = "rate_limited"

    def __init__(self, limit: int, *, retry_after: int, reset: float, reset_at: datetime) -> None:
        super().__init__(
            f"More than {limit} requests in a minute.",
            advice=f"Send the next one in {retry_after} s.",
        )
        self.limit = limit
        self.retry_after = retry_after
        self.reset = reset
        self.reset_at = reset_at


class BudgetExceeded(CallError):
    """What is left does not suffice. `retry_after`: seconds, where it may suffice when other calls have ended."""

    def __init__(
        self, message: str, *, advice: str = "", param: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message, advice=advice, param=param)
        self.retry_after = retry_after


class KeyCeilingReached(BudgetExceeded):
    code = "API_KEY_BUDGET_EXCEEDED"


class AllowanceExhausted(BudgetExceeded):
    code = "insufficient_quota"


class ProviderNotAllowed(CallError):
    code = "provider_not_allowed"


class UnscannableContent(CallError):
    """The call holds what the shield cannot read, and would take it out of the building."""

    code = "unscannable_content"


class LocalLaneUnavailable(CallError):
    code = "local_lane_unavailable"


class ModelAbsent(LocalLaneUnavailable):
    """No machine has the model: only an administrator can help, so that trying again is of no use."""


class Overloaded(CallError):
    """Too much to do. `retry_after`: seconds after which a provider wants to be asked again, None if it did not say."""

    code = "overloaded"

    def __init__(
        self, message: str, *, advice: str = "", param: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, advice=advice, param=param)
        self.retry_after = retry_after


class ContextLengthExceeded(CallError):
    """The prompt is longer than the model's context. `tokens` and `maximum` where they are known."""

    code = "context_length_exceeded"

    def __init__(
        self,
        message: str,
        *,
        advice: str = "",
        param: str | None = None,
        tokens: int | None = None,
        maximum: int | None = None,
    ) -> None:
        super().__init__(message, advice=advice, param=param)
        self.tokens = tokens
        self.maximum = maximum


class UpstreamFailed(CallError):
    code = "upstream_error"
    broken = True


class UpstreamTimeout(CallError):
    code = "upstream_timeout"
    broken = True


class StorageUnavailable(CallError):
    code = "storage_unavailable"
    broken = True
