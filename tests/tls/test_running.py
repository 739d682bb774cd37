import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.errors import ConfigError, StateError
from appliance.settings import Settings, load
from appliance.store.database import Database
from appliance.store.sealing import Sealer
from appliance.tls.running import reachable_by, running_tls
from tests.e2e.needs import need
from tests.tls.handshakes import certificate_of, self_signed, shown


def settings(state: Path, **environ: str) -> Settings:
    named = {"SYNAPSE_STATE_DIR": str(state), **environ}
    return load(None, named, system_file=state / "none.toml")


def running(chosen: Settings, database: Database):
    return running_tls(chosen, database=database, sealer=Sealer(b"k" * 32), clock=now)


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
async def database(tmp_path: Path):
    opened = await Database.open(tmp_path / "synapse.db")
    yield opened
    await opened.close()


async def test_without_tls_there_is_none(tmp_path: Path, database: Database):
    async with running(settings(tmp_path), database) as tls:
        assert tls is None
    assert not (tmp_path / "ca.pem").exists()


async def test_the_ca_is_made_once_and_published(tmp_path: Path, database: Database):
    chosen = settings(tmp_path, SYNAPSE_GATEWAY__TLS="auto", SYNAPSE_ADMIN_SOCKET=str(tmp_path / "run" / "admin.sock"))
    async with running(chosen, database) as tls:
        assert tls is not None
        pem = (tmp_path / "ca.pem").read_bytes()
        assert (tmp_path / "run" / "ca.pem").read_bytes() == pem
        assert (tmp_path / "run" / "ca.pem").stat().st_mode & 0o777 == 0o644
        assert (tmp_path / "ca.pem").stat().st_mode & 0o777 == 0o600
        first = certificate_of(shown(tls.context, trust=pem, name="localhost"))
        assert "same CA" in await tls.reload()
        assert certificate_of(shown(tls.context, trust=pem, name="localhost")) != first
    async with running(chosen, database) as again:
        assert again is not None
        assert shown(again.context, trust=pem, name="127.0.0.1")


async def test_a_ca_that_cannot_be_published_is_told(tmp_path: Path, database: Database):
    (tmp_path / "file").touch()
    socket = str(tmp_path / "file" / "admin.sock")
    chosen = settings(tmp_path, SYNAPSE_GATEWAY__TLS="auto", SYNAPSE_ADMIN_SOCKET=socket)
    with pytest.raises(StateError, match="CA's certificate cannot be written"):
        async with running(chosen, database):
            pass


async def test_files_are_read_again_and_a_bad_one_changes_nothing(tmp_path: Path, database: Database):
    need("openssl")
    certificate, key = self_signed(tmp_path)
    chosen = settings(
        tmp_path,
        SYNAPSE_GATEWAY__TLS="files",
        SYNAPSE_GATEWAY__TLS_CERTIFICATE=str(certificate),
        SYNAPSE_GATEWAY__TLS_KEY=str(key),
    )
    assert reachable_by(chosen, now) == "box.example"
    old = certificate.read_bytes()
    async with running(chosen, database) as tls:
        assert tls is not None
        assert shown(tls.context, trust=old, name="box.example")
        self_signed(tmp_path)
        assert str(certificate) in await tls.reload()
        new = certificate.read_bytes()
        assert shown(tls.context, trust=new, name="box.example")
        with pytest.raises(ssl.SSLCertVerificationError):
            shown(tls.context, trust=old, name="box.example")
        key.write_text("nonsense")
        with pytest.raises(ConfigError, match="no private key"):
            await tls.reload()
        assert shown(tls.context, trust=new, name="box.example")


async def test_a_certificate_that_ends_soon_is_told(
    tmp_path: Path, database: Database, caplog: pytest.LogCaptureFixture
):
    need("openssl")
    certificate, key = self_signed(tmp_path, days=5)
    chosen = settings(
        tmp_path,
        SYNAPSE_GATEWAY__TLS="files",
        SYNAPSE_GATEWAY__TLS_CERTIFICATE=str(certificate),
        SYNAPSE_GATEWAY__TLS_KEY=str(key),
    )
    async with running(chosen, database):
        assert "have a new one issued" in caplog.text


def test_without_files_an_address_will_do(tmp_path: Path):
    assert reachable_by(settings(tmp_path, SYNAPSE_GATEWAY__TLS="auto"), now) is None
