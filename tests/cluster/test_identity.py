import base64
import os
import ssl
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.identity import (
    Identity,
    client_context,
    id_bytes,
    id_of,
    instance_of,
    server_context,
    verifies,
)
from tests.cluster.certificates import certificate_of, pkcs8, private
from tests.cluster.tls import handshake

GATEWAY, NODE, STRANGER = Identity.create(), Identity.create(), Identity.create()

# Made with `openssl req -x509`; its id with `openssl x509 -pubkey | openssl pkey -pubin -outform DER |
# openssl dgst -sha256 -binary | base32`.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBejCCAR+gAwIBAgIUJT9/WjFepv/m+U+8GEoBmyf5W6owCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGdmVjdG9yMCAXDTI2MTEzMDEwMzIzOVoYDzIxMjYxMTA2MTAz
MjM5WjARMQ8wDQYDVQQDDAZ2ZWN0b3IwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATPhkMDVSHtw4l9fNyIEFd4DOIy73h3V3J1cH8NYYeokvZ0NiuceztZwRrHwy1T
lPrKBvth6jVbX3q//cXYT+aKo1MwUTAdBgNVHQ4EFgQUjbrlm8V/YK/bOujY2xhB
RYXT/bEwHwYDVR0jBBgwFoAUjbrlm8V/YK/bOujY2xhBRYXT/bEwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEA/KcveKsnvPo77Doy4g7C+jUun2Hq
eIwO0HcqpBrns4wCIQCBUpY9DCYXc4pV73yzmrCqG6EcwxNltrfNFm2bznUnYw==
-----END CERTIFICATE-----
"""
ID = "gfsklrjktgt77to3n3522vpfl7pxlfpv4upayi3jg7xv7m4zup6a"


class TestTheId:
    def test_is_the_hash_that_openssl_finds(self):
        assert id_of(ssl.PEM_cert_to_DER_cert(CERTIFICATE)) == ID
        assert instance_of(ID) == "syn-" + ID[:16]

    def test_belongs_to_the_key_and_not_to_the_certificate(self):
        again = certificate_of(private(NODE), name="other", issuer="other")
        assert again != NODE.certificate
        assert id_of(again) == NODE.id
        assert len({GATEWAY.id, NODE.id, STRANGER.id}) == 3

    @given(st.binary(min_size=32, max_size=32))
    def test_is_read_back_to_its_bytes(self, raw: bytes):
        assert id_bytes(base64.b32encode(raw).decode().lower().rstrip("=")) == raw

    @pytest.mark.parametrize(
        "text",
        ["", "a" * 50, "a" * 51, "a" * 53, "A" * 52, "a" * 51 + "b", "1" * 52, "a" * 48 + "====", "é" * 52, "ſ" * 52],
    )
    def test_has_one_form(self, text: str):
        with pytest.raises(ValueError, match="not an id"):
            id_bytes(text)

    @pytest.mark.parametrize(
        "key",
        [
            ec.generate_private_key(ec.SECP384R1()),
            ed25519.Ed25519PrivateKey.generate(),
            rsa.generate_private_key(65537, 2048),
        ],
        ids=["P-384", "Ed25519", "RSA"],
    )
    def test_is_of_a_key_on_p256_only(self, key: Any):
        with pytest.raises(ValueError, match="P-256"):
            id_of(certificate_of(key))
        with pytest.raises(ValueError, match="P-256"):
            Identity.from_bytes(NODE.certificate, pkcs8(key))

    @given(st.binary(max_size=200))
    def test_is_never_of_garbage(self, garbage: bytes):
        with pytest.raises(ValueError, match="not a certificate"):
            id_of(garbage)
        with pytest.raises(ValueError, match="not a certificate"):
            id_of(NODE.certificate[: len(garbage)])


class TestTheIdentity:
    def test_never_shows_its_key(self):
        assert repr(NODE.key) not in repr(NODE)
        assert "key=" not in repr(NODE)

    def test_survives_as_bytes(self):
        assert Identity.from_bytes(NODE.certificate, NODE.key) == NODE
        assert Identity.from_pem(NODE.pem()) == NODE

    def test_is_of_one_key(self):
        with pytest.raises(ValueError, match="another key"):
            Identity.from_bytes(NODE.certificate, GATEWAY.key)
        with pytest.raises(ValueError, match=r"\w"):
            Identity.from_pem(GATEWAY.pem()[:-60])

    def test_certificate_never_ends_names_nobody_and_makes_no_others(self):
        found = x509.load_der_x509_certificate(NODE.certificate)
        assert found.not_valid_before_utc == datetime(2000, 1, 1, tzinfo=UTC)
        assert found.not_valid_after_utc == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
        assert found.subject.rfc4514_string() == "CN=synapse"
        assert found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
        assert set(found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == {
            ExtendedKeyUsageOID.SERVER_AUTH,
            ExtendedKeyUsageOID.CLIENT_AUTH,
        }
        assert found.serial_number != x509.load_der_x509_certificate(GATEWAY.certificate).serial_number

    def test_signs(self):
        signature = NODE.sign(b"data")
        assert verifies(NODE.certificate, signature, b"data")
        assert not verifies(NODE.certificate, signature, b"Data")
        assert not verifies(GATEWAY.certificate, signature, b"data")
        assert not verifies(NODE.certificate, b"no signature", b"data")


class TestTls:
    """Each side trusts exactly the other's leaf (cluster.md, "Data path")."""

    def test_joins_two_that_trust_each_other(self):
        pair = handshake(server_context(NODE, GATEWAY.certificate), client_context(GATEWAY, NODE.certificate))
        assert pair.server.version() == pair.client.version() == "TLSv1.3"
        assert pair.server.getpeercert(binary_form=True) == GATEWAY.certificate
        assert pair.client.getpeercert(binary_form=True) == NODE.certificate

    def test_leaves_nothing_to_resume(self):
        pair = handshake(server_context(NODE, GATEWAY.certificate), client_context(GATEWAY, NODE.certificate))
        assert pair.session is None or not pair.session.has_ticket

    @pytest.mark.parametrize("client", [STRANGER, None], ids=["a stranger", "nobody"])
    def test_refuses_another_client(self, client: Identity | None):
        with pytest.raises(ssl.SSLError):
            handshake(server_context(NODE, GATEWAY.certificate), client_context(client, NODE.certificate))

    def test_refuses_another_server(self):
        with pytest.raises(ssl.SSLError):
            handshake(server_context(STRANGER, GATEWAY.certificate), client_context(GATEWAY, NODE.certificate))

    def test_refuses_a_certificate_that_the_trusted_key_issued(self):
        """It may sign for nobody else: CA is false."""
        key = ec.generate_private_key(ec.SECP256R1())
        issued = certificate_of(key, signer=private(GATEWAY), name="below")
        below = Identity(issued, pkcs8(key))
        with pytest.raises(ssl.SSLError):
            handshake(server_context(NODE, GATEWAY.certificate), client_context(below, NODE.certificate))

    def test_refuses_another_certificate_of_the_trusted_key(self):
        again = Identity(certificate_of(private(GATEWAY)), GATEWAY.key)
        with pytest.raises(ssl.SSLError):
            handshake(server_context(NODE, GATEWAY.certificate), client_context(again, NODE.certificate))

    def test_shows_its_certificate_before_anybody_is_trusted(self):
        pair = handshake(server_context(NODE, None), client_context(None, None))
        assert pair.client.getpeercert(binary_form=True) == NODE.certificate

    @pytest.mark.parametrize("side", ["server", "client"])
    def test_speaks_nothing_older(self, side: str):
        server, client = server_context(NODE, None), client_context(None, None)
        older = server if side == "server" else client
        older.minimum_version = ssl.TLSVersion.TLSv1_2
        older.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(ssl.SSLError):
            handshake(server, client)


class TestTheFileForOpenssl:
    def test_is_none_on_a_disk(self, monkeypatch: pytest.MonkeyPatch):
        def refuse(*_: Any) -> Any:
            raise AssertionError

        monkeypatch.setattr(tempfile, "mkstemp", refuse)
        handshake(server_context(NODE, None), client_context(GATEWAY, NODE.certificate))

    def test_is_private_and_gone_at_once_where_there_is_no_memory_file(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        modes: list[int] = []
        make = tempfile.mkstemp

        def watched() -> tuple[int, str]:
            descriptor, path = make(dir=tmp_path)
            modes.append(Path(path).stat().st_mode & 0o777)
            return descriptor, path

        monkeypatch.delattr(os, "memfd_create")
        monkeypatch.setattr(tempfile, "mkstemp", watched)
        handshake(server_context(NODE, None), client_context(GATEWAY, NODE.certificate))
        assert modes == [0o600, 0o600]
        assert list(tmp_path.iterdir()) == []
