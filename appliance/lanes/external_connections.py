"""The connections to external providers: kept alive, direct, with TLS verified; and why one could not be made.

One session for all of them. No proxy of the environment is used and no redirect followed, so that a prompt goes to the
host that the administrator named and to nobody else. Must not know keys.
"""

import ssl
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp

KEEP_ALIVE_SECONDS = 60.0
"""An idle connection is dropped before the load balancers in front of providers drop it."""

DNS_SECONDS = 30
"""How long a name's addresses are kept: providers move theirs within a minute."""

MAX_HEADER_BYTES = 32 * 1024

Why = Literal["dns", "tls", "limit", "refused", "broke"]
"""The name was not found, TLS failed, the limit `connect` passed, no connection was accepted, it broke later."""


@dataclass(frozen=True, slots=True)
class ConnectionFailure:
    """`said` ends the sentence "cannot be reached: "; `advice` is for the administrator. `reached`: it may have got
    our bytes. `passing`: another try may find it better."""

    why: Why
    said: str
    advice: str
    reached: bool
    passing: bool


def open_session(tls: ssl.SSLContext | None = None) -> aiohttp.ClientSession:
    """Close it when the daemon stops. `tls`: whom to trust, None for this system's own certificate authorities."""
    connector = aiohttp.TCPConnector(
        limit=0,
        ssl=tls or True,
        resolver=aiohttp.ThreadedResolver(),
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        ttl_dns_cache=DNS_SECONDS,
    )
    options: dict[str, Any] = {"max_line_size": MAX_HEADER_BYTES, "max_field_size": MAX_HEADER_BYTES}
    return aiohttp.ClientSession(
        connector=connector,
        trust_env=False,
        # A compressed answer can unfold to any size, and compression holds pieces of a stream back.
        headers={"Accept-Encoding": "identity", "User-Agent": "synapse"},
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        **options,
    )


def explain(error: Exception, connect_seconds: float) -> ConnectionFailure:
    """What kept a request from its answer: an `aiohttp.ClientError` or `OSError` of a request without an answer."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            return ConnectionFailure(
                "dns",
                "no address was found for its host name",
                "Check the host in its base URL, and that this machine can resolve names.",
                reached=False,
                passing=False,
            )
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return ConnectionFailure(
                "tls",
                f"no secure connection could be made ({_tls_reason(error)})",
                "Check that its base URL names the right host and port; if a proxy of yours inspects TLS, add its "
                "certificate authority to this system's.",
                reached=False,
                passing=False,
            )
        case aiohttp.ServerTimeoutError():
            return ConnectionFailure(
                "limit",
                f"no connection within {connect_seconds:g} s (limit `connect`)",
                "Check that a firewall lets this machine out to it, and its base URL.",
                reached=False,
                passing=False,
            )
        case aiohttp.ClientConnectorError():
            return ConnectionFailure(
                "refused",
                "its host accepts no connections",
                "Check that it is running, the host and port in its base URL, and that a firewall lets this machine "
                "out to it.",
                reached=False,
                passing=True,
            )
        case _:
            return ConnectionFailure(
                "broke",
                "the connection broke before an answer came",
                "Try again in a moment.",
                reached=True,
                passing=True,
            )


def _tls_reason(error: Exception) -> str:
    inner = error.__cause__
    if isinstance(inner, ssl.SSLCertVerificationError):
        return inner.verify_message.rstrip(".")
    reason = inner.reason if isinstance(inner, ssl.SSLError) else None
    return (reason or "the handshake failed").replace("_", " ").lower()
