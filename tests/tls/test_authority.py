import ipaddress
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from appliance.tls.authority import CLOCK_DAYS, DAYS, RENEW_DAYS, Authority, due
from appliance.tls.contexts import server_context
from appliance.tls.names import Names
from tests.tls.handshakes import certificate_of, shown

NOW = datetime.now(UTC)


def names(*dns: str, addresses: tuple[str, ...] = ()) -> Names:
    return Names(dns, tuple(ipaddress.ip_address(one) for one in addresses))


OFFICE = names("localhost", "box", "box.local", addresses=("127.0.0.1", "192.168.1.5", "::1", "fd00::5"))
AUTHORITY = Authority.create(OFFICE)


@pytest.mark.parametrize("name", ["localhost", "box", "box.local", "127.0.0.1", "192.168.1.5", "fd00::5"])
def test_a_server_is_verified_for_each_of_its_names(name: str):
    server = server_context(AUTHORITY.issue(OFFICE, NOW))
    assert certificate_of(shown(server, trust=AUTHORITY.pem, name=name)).not_valid_after_utc > NOW


@pytest.mark.parametrize("name", ["other.local", "192.168.1.6", "bank.example"])
def test_and_for_no_other(name: str):
    server = server_context(AUTHORITY.issue(OFFICE, NOW))
    with pytest.raises(ssl.SSLCertVerificationError):
        shown(server, trust=AUTHORITY.pem, name=name)


@pytest.mark.parametrize("name", ["bank.example", "localhost.example", "8.8.8.8", "2001:db8::1"])
def test_who_has_the_cas_key_cannot_pose_as_the_internet(name: str):
    """RFC 5280, section 4.2.1.10, as OpenSSL applies it: one name that is not permitted spoils the certificate."""
    forged = names("localhost", addresses=(name,)) if name[0].isdigit() else names("localhost", name)
    server = server_context(AUTHORITY.issue(forged, NOW))
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        shown(server, trust=AUTHORITY.pem, name=name)


def test_what_it_may_vouch_for_is_told_beforehand():
    asked = names("box.local", "other", "ai.lan", addresses=("10.1.2.3", "8.8.8.8"))
    covered, rest = AUTHORITY.covered(asked)
    assert covered == names("box.local", "ai.lan", addresses=("10.1.2.3",))
    assert rest == ("other", "8.8.8.8")


def test_names_and_addresses_of_the_machine_itself_are_permitted_even_where_they_are_public():
    public = names("localhost", "box.example.org", addresses=("198.51.100.7", "2001:db8::7"))
    authority = Authority.create(public, [ipaddress.ip_network("203.0.113.0/24")])
    assert authority.covered(public) == (public, ())
    assert authority.covered(names(addresses=("203.0.113.9",)))[1] == ()
    server = server_context(authority.issue(public, NOW))
    for name in ("box.example.org", "198.51.100.7", "2001:db8::7"):
        shown(server, trust=authority.pem, name=name)


def test_the_ca_is_one_of_p256_that_does_not_end_and_signs_servers_only():
    certificate = x509.load_der_x509_certificate(AUTHORITY.certificate)
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert certificate.not_valid_after_utc.year == 9999
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (constraints.ca, constraints.path_length) == (True, 0)
    assert certificate.extensions.get_extension_for_class(x509.NameConstraints).critical
    assert "key" not in repr(AUTHORITY)


def test_two_installations_have_cas_of_different_names():
    other = Authority.create(OFFICE)
    subjects = {x509.load_der_x509_certificate(one.certificate).subject for one in (AUTHORITY, other)}
    assert len(subjects) == 2
    with pytest.raises(ssl.SSLCertVerificationError):
        shown(server_context(other.issue(OFFICE, NOW)), trust=AUTHORITY.pem, name="localhost")


@pytest.mark.parametrize(
    ("days", "expected"),
    [(0, False), (DAYS - RENEW_DAYS - 1, False), (DAYS - RENEW_DAYS, True), (DAYS + 1, True), (-CLOCK_DAYS - 1, True)],
)
def test_when_the_next_one_is_due(days: int, expected: bool):
    assert due(NOW + timedelta(days=days), issued=NOW) is expected
