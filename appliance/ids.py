"""Names of things and API keys, made from a source of random bytes that is passed in.

Also the types of what is passed in: the clock and the random source. Knows nothing of what is named.
"""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Clock = Callable[[], datetime]
"""Gives the present time, aware and in UTC."""

RandomBytes = Callable[[int], bytes]
"""Gives that many unpredictable bytes: `secrets.token_bytes` outside tests."""

Prefix = Literal["prf", "key", "ws", "usr", "req", "call", "fct", "pull"]
"""What an id names: a certificate, an API key, a workspace, a user, a request, a tool call, a fact, a pull."""

ID_BYTES = 16
"""128 bits: ids never meet by chance, and none can be guessed from another."""

KEY_PREFIX = "sk_live_"

KEY_BYTES = 24
"""192 bits, above the 160 that gateway.md ("Authentication") asks for."""

KEY_DIGITS = 33
"""Base62 digits that hold KEY_BYTES: 62^33 > 2^192. Fixed, so that every key has one length."""

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Ids:
    random: RandomBytes

    def new(self, prefix: Prefix) -> str:
        """`prf_` and the like, then 26 characters of lower-case base32 (RFC 4648 without padding)."""
        return f"{prefix}_{base64.b32encode(self.random(ID_BYTES)).decode().rstrip('=').lower()}"

    def api_key(self) -> str:
        """`sk_live_` and 33 base62 characters. To be shown once and kept only as `digest`."""
        number = int.from_bytes(self.random(KEY_BYTES), "big")
        digits: list[str] = []
        for _ in range(KEY_DIGITS):
            number, rest = divmod(number, len(_BASE62))
            digits.append(_BASE62[rest])
        return KEY_PREFIX + "".join(reversed(digits))


def digest(api_key: str) -> bytes:
    """SHA-256 of a key as a caller sent it: what is stored, and what is looked up.

    A plain hash is enough for a secret of 192 random bits; no salt or slow function is needed against guessing.
    """
    return hashlib.sha256(api_key.encode("utf-8", "surrogatepass")).digest()
