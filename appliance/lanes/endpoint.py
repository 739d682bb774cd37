"""Where a provider is spoken to, and the key that it wants; the key is in no text that this module makes."""

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from appliance.errors import ConfigError

Kind = Literal["openai", "anthropic", "mistral", "openai-compatible"]

LEAST_OF_KEY = 4
"""Characters of a key's beginning that are hidden at the end of a text too."""

HIDDEN = "[key]"
"""Stands for the key in whatever a provider says that quotes it."""

_HOST = re.compile(r"[a-z0-9.:-]{1,253}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`base_url` is what comes before `/chat/completions` and the like. `auth_header` is "" where no key is needed.

    Raises ConfigError for an address that is none, or a key that no header can carry.
    """

    name: str
    base_url: str
    auth_header: str = ""
    auth_value: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        wrong = _wrong_url(self.base_url)
        if wrong:
            raise ConfigError(
                f"The base URL of the provider {self.name!r} {wrong}.",
                advice="Write it as `https://api.example.com/v1`.",
            )
        if not (self.auth_value.isascii() and self.auth_value.isprintable()):
            raise ConfigError(
                f"The key of the provider {self.name!r} has characters that no key has.",
                advice="Copy it again, without a line end or quotation marks.",
            )

    def url(self, path: str) -> str:
        return self.base_url.rstrip("/") + path

    def headers(self) -> dict[str, str]:
        """The header that carries the key, if there is one."""
        return {self.auth_header: self.auth_value} if self.auth_header else {}

    def without_key(self, text: str) -> str:
        """`text` as it may be shown: wherever it quotes the key, it does not any more."""
        return without(text, self.auth_value)


def without(text: str, auth_value: str) -> str:
    """`text` as it may be shown, without the key that a header has as this value, "" for none."""
    key = auth_value.removeprefix("Bearer ")
    if not key:
        return text
    text = re.sub(re.escape(key), HIDDEN, text, flags=re.IGNORECASE)  # a host is written in small letters
    # A text that was cut may end in the middle of it.
    begun = next((size for size in range(len(key) - 1, LEAST_OF_KEY - 1, -1) if text.endswith(key[:size])), 0)
    return text[: len(text) - begun] + HIDDEN if begun else text


def endpoint(kind: Kind, name: str, base_url: str, key: str | None) -> Endpoint:
    """How a provider of this kind takes its key; None or "" for a server without keys. Raises ConfigError."""
    if not key:
        return Endpoint(name, base_url)
    if kind == "anthropic":
        return Endpoint(name, base_url, "x-api-key", key)
    return Endpoint(name, base_url, "Authorization", f"Bearer {key}")


def redirect_host(location: str) -> str:
    """The host that a `Location` header names, "" where it names none; nothing else of it may be shown."""
    try:
        host = urlsplit(location).hostname or ""
    except ValueError:
        return ""
    return host if _HOST.fullmatch(host) else ""


def _wrong_url(url: str) -> str:
    """What is wrong with it, "" for nothing. Says nothing of what stands in it, which may be a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme not in ("http", "https"):
        return "must begin with https:// or http://"
    if not host or any(letter.isspace() for letter in url):
        return "names no host"
    if "@" in parts.netloc:
        return "must not hold a name or password"
    return "must not hold a query or a fragment" if parts.query or parts.fragment else ""
