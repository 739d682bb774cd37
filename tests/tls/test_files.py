import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from appliance.errors import ConfigError
from appliance.tls.files import load
from tests.e2e.needs import need
from tests.tls.handshakes import openssl, self_signed, shown

NOW = datetime.now(UTC) + timedelta(hours=1)
"""After the certificates of this file are made."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    need("openssl")
    return self_signed(tmp_path_factory.mktemp("made"))


@pytest.fixture
def pair(made: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Files of the test's own."""
    certificate, key = (Path(shutil.copy2(path, tmp_path)) for path in made)
    return certificate, key


def test_what_fits_is_loaded(pair: tuple[Path, Path]):
    certificate, key = pair
    loaded = load(certificate, key, NOW)
    assert loaded.names == ("box.example",)  # a wildcard is no name to call anything by
    assert loaded.ends - NOW > timedelta(days=89)
    assert shown(loaded.context, trust=certificate.read_bytes(), name="box.example")


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o602])
def test_a_key_that_others_may_read_or_change_is_refused(pair: tuple[Path, Path], mode: int):
    pair[1].chmod(mode)
    with pytest.raises(ConfigError, match=f"mode {mode:04o}.*chmod 640"):
        load(*pair, NOW)


def test_a_key_that_its_group_may_read_is_taken(pair: tuple[Path, Path]):
    pair[1].chmod(0o640)
    assert load(*pair, NOW)


def test_a_key_of_another_certificate_is_refused(pair: tuple[Path, Path], tmp_path: Path):
    _, other = self_signed(tmp_path, "other.example")
    with pytest.raises(ConfigError, match=r"is not that of the certificate.*issued for"):
        load(pair[0], other, NOW)


def test_a_chain_in_the_wrong_order_is_told_as_such(pair: tuple[Path, Path], tmp_path: Path):
    other, _ = self_signed(tmp_path, "other.example")
    pair[0].write_bytes(other.read_bytes() + pair[0].read_bytes())
    with pytest.raises(ConfigError, match="must come first"):
        load(*pair, NOW)


def test_an_encrypted_key_is_refused_without_asking_for_its_password(pair: tuple[Path, Path], tmp_path: Path):
    encrypted = tmp_path / "encrypted.key"
    openssl("pkey", "-in", pair[1], "-aes256", "-passout", "pass:secret", "-out", encrypted)
    encrypted.chmod(0o600)
    with pytest.raises(ConfigError, match=r"is encrypted.*openssl pkey"):
        load(pair[0], encrypted, NOW)


@pytest.mark.parametrize(("days", "said"), [(91, "has expired"), (-2, "does not hold before")])
def test_a_certificate_that_does_not_hold_now_is_refused(pair: tuple[Path, Path], days: int, said: str):
    with pytest.raises(ConfigError, match=said):
        load(*pair, NOW + timedelta(days=days))


def test_a_key_that_openssl_holds_for_weak_is_refused(tmp_path: Path):
    need("openssl")
    with pytest.raises(ConfigError, match="OpenSSL does not take"):
        load(*self_signed(tmp_path, kind="1024"), NOW)


def test_files_that_are_none_are_told_by_name(pair: tuple[Path, Path], tmp_path: Path):
    certificate, key = pair
    with pytest.raises(ConfigError, match=r"key .*none.*cannot be read.*gateway\.tls_key"):
        load(certificate, tmp_path / "none", NOW)
    with pytest.raises(ConfigError, match="holds no certificate"):
        load(key, key, NOW)
    certificate.chmod(0o600)
    with pytest.raises(ConfigError, match="holds no private key"):
        load(certificate, certificate, NOW)
    certificate.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="larger than"):
        load(certificate, key, NOW)
