"""TLS on loopback, with certificates that the test makes itself."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from appliance.lanes.external_connections import ConnectionFailure, explain, open_session
from tests.upstreams.openai import OpenAIDouble, openai_double


@pytest.fixture
async def openai():
    async with openai_double() as double:
        yield double


def certificate(folder: Path, *, days: int = 1, host: str = "127.0.0.1") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server with a certificate for this host, and a client that trusts it and nobody else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "double")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=3))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "double.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cadata=made.public_bytes(serialization.Encoding.PEM).decode())


async def fails(session: aiohttp.ClientSession, url: str) -> ConnectionFailure:
    with pytest.raises((aiohttp.ClientError, OSError)) as failed:
        await session.get(url + "/models")
    return explain(failed.value, 2)


async def test_a_certificate_that_is_trusted(tmp_path: Path):
    server, client = certificate(tmp_path)
    async with (
        openai_double(tls=server) as double,
        open_session(client) as session,
        session.get(double.url + "/models") as response,
    ):
        assert response.status == 200


@pytest.mark.parametrize(
    ("made", "trusted", "said"),
    [
        ({}, False, "self-signed certificate"),
        ({"days": -1}, True, "certificate has expired"),
        ({"host": "127.0.0.2"}, True, "IP address mismatch"),
    ],
)
async def test_a_certificate_that_is_not(tmp_path: Path, made: dict[str, object], trusted: bool, said: str):
    """The reasons are OpenSSL's own words."""
    server, client = certificate(tmp_path, **made)  # type: ignore[arg-type]
    async with openai_double(tls=server) as double, open_session(client if trusted else None) as session:
        failure = await fails(session, double.url)
    assert (failure.why, failure.reached, failure.passing) == ("tls", False, False)
    assert said in failure.said
    assert double.asked == []


async def test_tls_to_a_server_without_it(openai: OpenAIDouble):
    async with open_session() as session:
        failure = await fails(session, openai.url.replace("http:", "https:"))
    assert (failure.why, "secure connection" in failure.said) == ("tls", True)


async def test_no_proxy_of_the_environment_is_used(openai: OpenAIDouble, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with open_session() as session, session.get(openai.url + "/models") as response:
        assert response.status == 200


async def test_nobody_there(unused_tcp_port: int):
    async with open_session() as session:
        failure = await fails(session, f"http://127.0.0.1:{unused_tcp_port}/v1")
    assert (failure.why, failure.reached, failure.passing) == ("refused", False, True)


def test_the_other_ways_to_fail():
    limit = explain(aiohttp.ConnectionTimeoutError(), 2)
    assert (limit.why, limit.reached, limit.passing) == ("limit", False, False)
    assert "2 s (limit `connect`)" in limit.said
    broke = explain(aiohttp.ServerDisconnectedError(), 2)
    assert (broke.why, broke.reached, broke.passing) == ("broke", True, True)
    assert explain(ConnectionResetError(), 2).why == "broke"
