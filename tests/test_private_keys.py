import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_der_private_key, load_pem_private_key

from appliance.private_keys import pkcs8


@pytest.fixture
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def test_pem_bears_the_label_of_rfc_7468(key: ec.EllipticCurvePrivateKey):
    written = pkcs8(key, Encoding.PEM)
    assert written.startswith(b"-----BEGIN PRIVATE KEY-----\n")  # section 10; ENCRYPTED is section 11
    assert load_pem_private_key(written, password=None).private_numbers() == key.private_numbers()


def test_der(key: ec.EllipticCurvePrivateKey):
    assert load_der_private_key(pkcs8(key, Encoding.DER), password=None).private_numbers() == key.private_numbers()
