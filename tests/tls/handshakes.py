"""TLS handshakes of tests, without a network, and certificates that OpenSSL's own program has made."""

import ssl
import subprocess
from pathlib import Path
from typing import Any

from cryptography import x509


def shown(
    server: ssl.SSLContext, *, trust: bytes, name: str, alpn: tuple[str, ...] = (), **client: Any
) -> ssl.SSLObject:
    """The client's end of a handshake in which the server was verified for `name`. Raises `ssl.SSLError`."""
    context = ssl.create_default_context(cadata=trust.decode())
    for option, value in client.items():
        setattr(context, option, value)
    if alpn:
        context.set_alpn_protocols(alpn)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = context.wrap_bio(to_client, to_server, server_hostname=name)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    done: set[ssl.SSLObject] = set()
    for _ in range(10):
        for end in (ours, theirs):
            if end in done:
                continue
            try:
                end.do_handshake()
                done.add(end)
            except ssl.SSLWantReadError:
                continue
    assert len(done) == 2
    return ours


def certificate_of(connection: ssl.SSLObject) -> x509.Certificate:
    der = connection.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=30)


def self_signed(folder: Path, name: str = "box.example", *, kind: str = "ec", days: int = 90) -> tuple[Path, Path]:
    """Certificate and key, as an administrator makes them."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    how = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else ["-newkey", f"rsa:{kind}"]
    openssl(
        "req", "-x509", *how, "-nodes", "-keyout", key, "-out", certificate, "-days", str(days),
        "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name},DNS:*.{name}",
    )  # fmt: skip
    key.chmod(0o600)
    return certificate, key
