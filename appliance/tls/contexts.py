"""What the gateway speaks as a TLS server, and how a listener's handshakes get a new certificate without being stopped.

TLS 1.2 and 1.3, with forward secrecy and authenticated encryption alone (RFC 9325; RFC 9113, section 9.2, for HTTP/2).
"""

import ssl
from dataclasses import dataclass, field

from appliance.memory_files import as_file

ALPN = ("h2", "http/1.1")
"""In the order that we prefer (RFC 7301)."""

_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2; those of 1.3 are all good."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with those that it was issued by, the server's own first, and its private key; both PEM."""

    chain: bytes
    key: bytes = field(repr=False)


def server_context(pair: Pair) -> ssl.SSLContext:
    """Raises `ssl.SSLError`: they do not belong together, or are too weak for this system's OpenSSL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(ALPN)
    with as_file(pair.chain) as chain, as_file(pair.key) as key:
        context.load_cert_chain(chain, key, password=_no_password)
    return context


class Handshakes:
    """`context` is what a listener listens with; each handshake is done with what `use` gave last.

    Connections that stand keep what they began with. A new context and not new keys in the old one: that would go on
    showing the old certificate to clients who prefer its kind of key.
    """

    def __init__(self, first: ssl.SSLContext) -> None:
        self.context = first
        self._now = first
        first.sni_callback = self._begin  # called in every handshake, whether or not the client names a server

    def use(self, context: ssl.SSLContext) -> None:
        self._now = context

    def _begin(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext) -> None:
        if self._now is not self.context:
            connection.context = self._now


def _no_password() -> str:
    """Instead of OpenSSL's own question at a terminal."""
    return ""
