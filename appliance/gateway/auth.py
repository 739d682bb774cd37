"""Who asks: finds the key in a request's headers, and checks what it opens (gateway.md, "Authentication")."""

from collections.abc import Iterable

from starlette.types import Scope

from appliance.errors import NotAuthenticated, ScopeDenied
from appliance.gateway.edge import shape_of
from appliance.ids import Clock, digest
from appliance.metering.rate_limits import RateLimits
from appliance.store import keys
from appliance.store.database import Database
from appliance.store.keys import Caller
from appliance.times import to_ms

MAX_KEY_BYTES = 256
"""Ours are 41 characters. What is longer is no key of ours, and is not worth hashing."""


class Authenticator:
    """Looks every key up again for every request, so that a revocation holds from the next one on."""

    def __init__(self, database: Database, clock: Clock, limits: RateLimits) -> None:
        self._database = database
        self._clock = clock
        self._limits = limits

    async def admitted(self, scope: Scope, scopes: Iterable[str]) -> Caller:
        """The caller, as `caller` finds it, of a request that is no call, and counts for its key's limit here: a call
        does once its body was read. Raises RateLimited too."""
        caller = await self.caller(scope, scopes)
        self.admit(caller)
        return caller

    def admit(self, caller: Caller) -> None:
        """Count a request for its key's limit. Raises RateLimited."""
        if caller.requests_per_minute is not None:
            self._limits.admit(caller.key_n, caller.requests_per_minute)

    async def caller(self, scope: Scope, scopes: Iterable[str]) -> Caller:
        """The caller of a request that needs one of `scopes`. Where each header has a key of its own, one that is good
        is enough: the other may be another service's.

        Raises:
            NotAuthenticated: no key, or one that is unknown, revoked or expired; the answer does not tell which.
            ScopeDenied: the key does not carry any of the scopes.
        """
        sent = _keys(scope)
        callers = await self._usable(sent)
        if not callers:
            raise NotAuthenticated(
                "No valid API key." if sent else _what_is_missing(scope),
                advice=f"Send {_how(scope)}; an administrator makes keys with `synapse key create`.",
            )
        wanted = list(scopes)
        caller = next((one for one in callers if not one.scopes.isdisjoint(wanted)), None)
        if caller is None:
            raise ScopeDenied(
                f"This key does not carry the scope {' or '.join(repr(scope) for scope in wanted)}.",
                advice="Ask the administrator for a key that does.",
            )
        return caller

    async def _usable(self, sent: Iterable[str]) -> list[Caller]:
        digests = [digest(key) for key in sent if len(key) <= MAX_KEY_BYTES]
        if not digests:
            return []
        found = await self._database.read(lambda conn: [keys.by_digest(conn, one) for one in digests])
        now = to_ms(self._clock())
        return [caller for caller in found if caller is not None and caller.usable(now)]


def _how(scope: Scope) -> str:
    """The header that a client of this dialect sets a key in; either is read in both."""
    bearer = "`Authorization: Bearer sk_live_…`"
    return f"`x-api-key: sk_live_…` or {bearer}" if shape_of(scope, scope["path"]) == "anthropic" else bearer


def _what_is_missing(scope: Scope) -> str:
    said = dict(scope["headers"]).get(b"authorization", b"").strip().lower()
    if said and not said.startswith(b"bearer"):
        return "The Authorization header does not begin with `Bearer `."
    return "No API key was sent."


def _keys(scope: Scope) -> list[str]:
    """What is sent as a key: in `Authorization: Bearer`, then in `x-api-key`."""
    found: dict[bytes, bytes] = dict(reversed(scope["headers"]))
    kind, _, token = found.get(b"authorization", b"").strip().partition(b" ")
    bearer = token.strip() if kind.lower() == b"bearer" else b""
    sent = (bearer, found.get(b"x-api-key", b"").strip())
    return [key.decode("latin-1") for key in dict.fromkeys(sent) if key]
