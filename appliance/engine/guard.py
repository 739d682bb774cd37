"""Which pages and which names may reach the engine: Ollama's guard against other websites and DNS rebinding. Pure.

A foreign `Origin` is refused always, a foreign `Host` while the engine listens on loopback. Pages of this machine may
send requests but get no CORS headers, so no browser shows them an answer; Ollama is wider here, since people write
web pages for it.
"""

import ipaddress
from urllib.parse import urlsplit

_LOCAL_SUFFIXES = (".localhost", ".local", ".internal")
_LOCAL_ORIGINS = ("localhost", "127.0.0.1", "0.0.0.0", "::1")  # noqa: S104  compared with, never bound


def allows_host(host: str, *, own_name: str) -> bool:
    """Whether a `Host` header means this machine. `own_name` is the machine's host name."""
    name = _without_port(host).lower()
    if name in ("", "localhost", own_name.lower()) or name.endswith(_LOCAL_SUFFIXES):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_private or address.is_unspecified


def allows_origin(origin: str | None, host: str) -> bool:
    """Whether a request with this `Origin` may pass; programs other than browsers send none."""
    if origin is None:
        return True
    try:
        page = urlsplit(origin)
        name = page.hostname
    except ValueError:
        return False
    if page.scheme not in ("http", "https"):
        return False
    return name in _LOCAL_ORIGINS or page.netloc.lower() == host.lower()


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0]
