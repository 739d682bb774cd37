import ssl
from datetime import UTC, datetime

import pytest

from appliance.tls.authority import Authority
from appliance.tls.contexts import Handshakes, Pair, server_context
from appliance.tls.names import Names
from tests.tls.handshakes import certificate_of, self_signed, shown

LOCAL = Names(("localhost",), ())
AUTHORITY = Authority.create(LOCAL)


def fresh() -> ssl.SSLContext:
    return server_context(AUTHORITY.issue(LOCAL, datetime.now(UTC)))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_12_and_13_are_spoken_with_forward_secrecy(version: ssl.TLSVersion):
    end = shown(fresh(), trust=AUTHORITY.pem, name="localhost", maximum_version=version)
    cipher = end.cipher()
    assert cipher is not None
    assert end.version() == ("TLSv1.2" if version == ssl.TLSVersion.TLSv1_2 else "TLSv1.3")
    assert "GCM" in cipher[0] or "CHACHA20" in cipher[0]


def test_nothing_older_and_nothing_weak_is_offered():
    context = fresh()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    older = [one["name"] for one in context.get_ciphers() if one["protocol"] != "TLSv1.3"]
    assert older
    assert all(name.startswith("ECDHE-") and ("GCM" in name or "CHACHA20" in name) for name in older)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (("h2", "http/1.1"), "h2"),
        (("http/1.1", "h2"), "h2"),
        (("http/1.1",), "http/1.1"),
        (("spdy/3",), None),
        ((), None),
    ],
)
def test_http2_is_preferred(offered: tuple[str, ...], chosen: str | None):
    assert shown(fresh(), trust=AUTHORITY.pem, name="localhost", alpn=offered).selected_alpn_protocol() == chosen


def test_a_handshake_gets_the_newest_certificate_and_the_same_protocols(tmp_path):
    handshakes = Handshakes(fresh())
    first = certificate_of(shown(handshakes.context, trust=AUTHORITY.pem, name="localhost"))
    assert certificate_of(shown(handshakes.context, trust=AUTHORITY.pem, name="localhost")) == first
    handshakes.use(fresh())
    end = shown(handshakes.context, trust=AUTHORITY.pem, name="localhost", alpn=("h2",))
    assert certificate_of(end) != first
    assert end.selected_alpn_protocol() == "h2"


@pytest.mark.parametrize(("before", "after"), [("ec", "2048"), ("2048", "ec")])
def test_one_of_another_kind_of_key_takes_its_place_wholly(tmp_path, before: str, after: str):
    """A client that prefers the old kind gets the new certificate all the same."""
    pairs = [
        tuple(path.read_bytes() for path in self_signed(tmp_path, f"{kind}.example", kind=kind))
        for kind in (before, after)
    ]
    handshakes = Handshakes(server_context(Pair(*pairs[0])))
    handshakes.use(server_context(Pair(*pairs[1])))
    name = f"{after}.example"
    assert shown(handshakes.context, trust=pairs[1][0], name=name, maximum_version=ssl.TLSVersion.TLSv1_2)


def test_a_key_of_another_certificate_is_refused():
    one, other = (AUTHORITY.issue(LOCAL, datetime.now(UTC)) for _ in range(2))
    with pytest.raises(ssl.SSLError):
        server_context(Pair(one.chain, other.key))
