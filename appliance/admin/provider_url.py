"""Where a provider is: its kind's own address, and what may stand in the place of it. Pure, looks up no name.

Source: operations.md, "`--base-url` is what the kind's SDK takes".
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from appliance.admin.policy_wire import ProviderKind
from appliance.admin.wire import InvalidInput
from appliance.cluster.addresses import PRIVATE

DEFAULTS: Mapping[ProviderKind, str] = {
    "openai": "https://api.openai.com/v1",
    "mistral": "https://api.mistral.ai/v1",
    "anthropic": "https://api.anthropic.com",
}
"""`openai-compatible` has none: it can be anywhere."""

URL_CHARACTERS = 512

_ENDPOINTS = ("/chat/completions", "/messages", "/responses", "/models")
"""What is appended to a base URL: one that ends so was copied whole."""

_FORM = "Write it like https://llm.example.com/v1: scheme, host, perhaps a port and a path, and nothing after it."


def checked(kind: ProviderKind, url: str | None) -> str:
    """The base URL to use, without a slash at its end.

    Raises:
        InvalidInput: none was given and the kind has no own; it is no URL, holds a password, or is neither
            encrypted nor inside the network.
    """
    if url is None:
        if kind not in DEFAULTS:
            raise InvalidInput(
                f"A provider of the kind {kind} has no address of its own.",
                advice="Give --base-url, such as https://llm.example.com/v1.",
            )
        return DEFAULTS[kind]
    parts = _parts(url)
    if parts.scheme == "http" and not _inside(parts.hostname or ""):
        raise InvalidInput(
            "The base URL is not encrypted: the key and every prompt could be read on the way.",
            advice="Use https://. Plain http:// is for this machine and for private addresses only, written as"
            " numbers, since a name can lead anywhere.",
        )
    base = url.rstrip("/")
    _check_path(kind, parts.path.rstrip("/"))
    return base


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput("The base URL is no URL.", advice=_FORM) from error
    if "@" in parts.netloc:
        raise InvalidInput("The base URL holds a user or a password.", advice="The key goes to --key-stdin, alone.")
    written = url.isascii() and url.isprintable() and not set(url) & set(' \\"<>?#') and len(url) <= URL_CHARACTERS
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not written:
        raise InvalidInput("The base URL is no URL of a provider.", advice=_FORM)
    return parts


def _inside(host: str) -> bool:
    """Whether what is sent to the host stays on this machine or in this network, whatever names lead where."""
    if host == "localhost":
        return True
    try:
        return PRIVATE.holds(ipaddress.ip_address(host))
    except ValueError:
        return False


def _check_path(kind: ProviderKind, path: str) -> None:
    for endpoint in _ENDPOINTS:
        if path.endswith(endpoint):
            raise InvalidInput(
                f"The base URL ends in {endpoint}, which is added to it.", advice="Leave that part away."
            )
    if kind == "anthropic" and path.endswith("/v1"):
        raise InvalidInput("The base URL of Anthropic's dialect ends before /v1.", advice="Leave the /v1 away.")
