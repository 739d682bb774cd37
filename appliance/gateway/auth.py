"""Who asks: finds the key in a request's headers, and checks what it opens (gateway.md, "Authentication")."""

from collections.abc import Iterable

from starlette.types import Scope

from appliance.errors import NotAuthenticated, ScopeDenied
from appliance.ids import Clock, digest
from appliance.store import keys
from appliance.store.database import Database
from appliance.store.keys import Caller
from appliance.times import to_ms

MAX_KEY_BYTES = 256
"""Ours are 41 characters. What is longer is no key of ours, and is not worth hashing."""


class Authenticator:
    """Looks every key up again for every request, so that a revocation holds from the next one on."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def caller(self, scope: Scope, scopes: Iterable[str]) -> Caller:
        """The caller of a request that needs one of `scopes`.

        Raises:
            NotAuthenticated: no key, or one that is unknown, revoked or expired; the answer does not tell which.
            ScopeDenied: the key does not carry any of the scopes.
        """
        key = _key(scope)
        known = 0 < len(key) <= MAX_KEY_BYTES
        caller = await self._database.read(lambda conn: keys.by_digest(conn, digest(key))) if known else None
        if caller is None or not caller.usable(to_ms(self._clock())):
            raise NotAuthenticated(
                "No valid API key." if key else _what_is_missing(scope),
                advice="Send `Authorization: Bearer sk_live_…`; an administrator makes keys with `synapse key create`.",
            )
        wanted = list(scopes)
        if caller.scopes.isdisjoint(wanted):
            raise ScopeDenied(
                f"This key does not carry the scope {' or '.join(repr(scope) for scope in wanted)}.",
                advice="Ask the administrator for a key that does.",
            )
        return caller


def _what_is_missing(scope: Scope) -> str:
    said = dict(scope["headers"]).get(b"authorization", b"").strip().lower()
    if said and not said.startswith(b"bearer"):
        return "The Authorization header does not begin with `Bearer `."
    return "No API key was sent."


def _key(scope: Scope) -> str:
    """The key in `Authorization: Bearer` or else in `x-api-key`; "" if there is none."""
    found: dict[bytes, bytes] = dict(reversed(scope["headers"]))
    kind, _, token = found.get(b"authorization", b"").strip().partition(b" ")
    bearer = token.strip() if kind.lower() == b"bearer" else b""
    return (bearer or found.get(b"x-api-key", b"").strip()).decode("latin-1")
