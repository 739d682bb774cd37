"""Source of keys, defaults and order of the places: operations.md, "Settings"."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.errors import ConfigError
from appliance.setting_rules import OwnPrice
from appliance.settings import Settings, file_of, known_keys, load

DOCS = Path(__file__).resolve().parent.parent / "docs" / "settings.md"

DEFAULTS = {
    "app_mode": "local",
    "gateway.host": "0.0.0.0",
    "gateway.port": 8787,
    "gateway.tls": "off",
    "gateway.max_body_mb": 32,
    "local.ollama": ("http://127.0.0.1:11434",),
    "discovery.enabled": True,
    "discovery.interfaces": (),
    "shield.mode": "standard",
    "shield.country": "FR",
    "timeouts.connect": 5,
    "timeouts.first_byte": 900,
    "timeouts.idle": 120,
    "timeouts.total": 1800,
    "queue.size": 64,
    "queue.wait": 30,
    "store.fsync": False,
    "retention.ledger_days": 400,
    "prices.models": (),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no file of the machine that runs the tests is read."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def settings(text: str = "", *, tmp_path: Path, **environ: str) -> Settings:
    path = tmp_path / "synapse.toml"
    path.write_text(text)
    return load(path, {"XDG_RUNTIME_DIR": "/nowhere", **environ})


def value(of: Settings, name: str) -> object:
    result: object = of
    for part in name.split("."):
        result = getattr(result, part)
    return result


def test_every_key_and_default_of_the_design(tmp_path: Path):
    found = settings(tmp_path=tmp_path)
    assert {name: value(found, name) for name in DEFAULTS} == DEFAULTS
    # Beside those of the design: the administrator's lists that shield.md speaks of, and the context of local models.
    # routing.md, "Metering", says that questions can be set.
    questions = {"questions.local", "questions.fast", "questions.full"}
    # cluster.md: "private, link-local or administrator-listed ranges".
    local = {"local.context", "local.networks"}
    # docs/service.md: the certificate's names and files, and how long calls may go on when the daemon is to stop.
    service = {"gateway.tls_names", "gateway.tls_certificate", "gateway.tls_key", "timeouts.drain"}
    more = {"state_dir", "admin.socket", "shield.names", "shield.ignore", *local, *questions, *service}
    assert set(known_keys()) == {*DEFAULTS, *more}


def test_settings_are_frozen(tmp_path: Path):
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings(tmp_path=tmp_path).gateway.port = 1  # type: ignore[misc]  the point of the test


def test_a_file_sets_every_kind(tmp_path: Path):
    found = settings(
        """
        app_mode = "cloud"
        state_dir = "/srv/synapse"
        [gateway]
        host = "127.0.0.1"
        port = 0
        [admin]
        socket = "/srv/a.sock"
        [local]
        ollama = ["http://box:11434/", "https://[fd00::2]"]
        [timeouts]
        connect = 2.5
        [store]
        fsync = true
        """,
        tmp_path=tmp_path,
    )
    assert found.app_mode == "cloud"
    assert found.state_dir == Path("/srv/synapse")
    assert (found.gateway.host, found.gateway.port) == ("127.0.0.1", 0)
    assert found.admin.socket == Path("/srv/a.sock")
    assert found.local.ollama == ("http://box:11434", "https://[fd00::2]")
    assert found.timeouts.connect == 2.5
    assert found.store.fsync is True


@pytest.mark.parametrize("name", sorted({*DEFAULTS, "state_dir", "admin.socket"}))
def test_every_key_can_come_from_the_environment(name: str, tmp_path: Path):
    given = {
        "app_mode": "cloud",
        "gateway.tls": "off",
        "gateway.host": "::1",
        "local.ollama": "http://a:1,http://b:2",
        "discovery.enabled": "false",
        "discovery.interfaces": "eth0,wlan0",
        "shield.mode": "medical",
        "shield.country": "DE",
        "store.fsync": "true",
        "state_dir": "/srv/x",
        "admin.socket": "/srv/x.sock",
        "prices.models": "openai/gpt-4o 2.5 10, rack/qwen3 0 0.5",
    }.get(name, "7")
    expected = {
        "local.ollama": ("http://a:1", "http://b:2"),
        "discovery.interfaces": ("eth0", "wlan0"),
        "discovery.enabled": False,
        "store.fsync": True,
        "state_dir": Path("/srv/x"),
        "admin.socket": Path("/srv/x.sock"),
        "prices.models": (
            OwnPrice("openai", "gpt-4o", (2_500_000, 10_000_000)),
            OwnPrice("rack", "qwen3", (0, 500_000)),
        ),
    }.get(name, 7 if given == "7" else given)
    found = settings(tmp_path=tmp_path, **{"SYNAPSE_" + name.upper().replace(".", "__"): given})
    assert value(found, name) == expected


def test_the_environment_goes_before_the_file(tmp_path: Path):
    found = settings("[gateway]\nport = 1\n[queue]\nsize = 3", tmp_path=tmp_path, SYNAPSE_GATEWAY__PORT="2")
    assert found.gateway.port == 2
    assert found.queue.size == 3


def test_second_names_in_the_environment(tmp_path: Path):
    found = settings(tmp_path=tmp_path, APP_MODE="cloud", SYNAPSE_ADMIN_SOCKET="/srv/a.sock")
    assert found.app_mode == "cloud"
    assert found.admin.socket == Path("/srv/a.sock")


def test_two_names_that_agree_are_fine_and_two_that_do_not_are_refused(tmp_path: Path):
    assert settings(tmp_path=tmp_path, APP_MODE="cloud", SYNAPSE_APP_MODE="cloud").app_mode == "cloud"
    with pytest.raises(ConfigError, match=r"^APP_MODE and SYNAPSE_APP_MODE in the environment disagree about app_mode"):
        settings(tmp_path=tmp_path, APP_MODE="cloud", SYNAPSE_APP_MODE="local")


def test_the_environment_of_other_programs_is_left_alone(tmp_path: Path):
    settings(tmp_path=tmp_path, PORT="x", SYNAPSE_LOG="debug", SYNAPSE_CONFIG="/elsewhere", synapse_port="1")


class TestFile:
    def write(self, path: Path, port: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[gateway]\nport = {port}\n")
        return path

    def test_the_places_in_their_order(self, tmp_path: Path):
        option = self.write(tmp_path / "option.toml", 1)
        named = self.write(tmp_path / "named.toml", 2)
        system = self.write(tmp_path / "system.toml", 3)
        user = self.write(tmp_path / ".config/synapse/synapse.toml", 4)
        environ = {"SYNAPSE_CONFIG": str(named)}

        assert load(option, environ, system_file=system).gateway.port == 1
        assert file_of(option, environ, system_file=system) == option
        assert load(None, environ, system_file=system).gateway.port == 2
        assert load(None, {}, system_file=system).gateway.port == 3
        system.unlink()
        assert load(None, {}, system_file=system).gateway.port == 4
        user.unlink()
        assert load(None, {}, system_file=system).gateway.port == 8787
        assert file_of(None, {}, system_file=system) is None

    @pytest.mark.parametrize("by_option", [True, False])
    def test_a_named_file_must_exist(self, tmp_path: Path, by_option: bool):
        missing = tmp_path / "no.toml"
        with pytest.raises(ConfigError, match=r"no\.toml cannot be read \(No such file or directory\)") as caught:
            load(missing, {}) if by_option else load(None, {"SYNAPSE_CONFIG": str(missing)})
        assert caught.value.advice

    @pytest.mark.parametrize("content", [b"port =", b"\xff\xfe", b"a = 1\na = 2", b"[gateway]\nport = 1\nport = 2"])
    def test_a_file_that_is_not_toml(self, tmp_path: Path, content: bytes):
        path = tmp_path / "bad.toml"
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"bad\.toml is not TOML \("):
            load(path, {})

    def test_a_directory_is_not_a_file(self, tmp_path: Path):
        with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
            load(tmp_path, {})


class TestUnknown:
    @pytest.mark.parametrize(
        ("text", "name", "near"),
        [
            ("app_mod = 'local'", "app_mod", "app_mode"),
            ("[gateway]\nprot = 1", "gateway.prot", "gateway.port"),
            ("[gatway]\nport = 1", "[gatway]", "[gateway]"),
            ("[queue]\nsizes = 1", "queue.sizes", "queue.size"),
        ],
    )
    def test_a_key_of_the_file(self, tmp_path: Path, text: str, name: str, near: str):
        with pytest.raises(ConfigError) as caught:
            settings(text, tmp_path=tmp_path)
        assert caught.value.message == f"There is no setting {name} (in {tmp_path / 'synapse.toml'})."
        assert caught.value.advice == f"Did you mean {near}?"

    @pytest.mark.parametrize(
        ("name", "near"),
        [
            ("SYNAPSE_GATEWAY_PORT", "SYNAPSE_GATEWAY__PORT"),
            ("SYNAPSE_APPMODE", "SYNAPSE_APP_MODE"),
            ("SYNAPSE_LOCAL__OLAMA", "SYNAPSE_LOCAL__OLLAMA"),
        ],
    )
    def test_a_name_of_the_environment(self, tmp_path: Path, name: str, near: str):
        with pytest.raises(ConfigError) as caught:
            settings(tmp_path=tmp_path, **{name: "1"})
        assert caught.value.message == f"There is no setting {name} (in the environment)."
        assert caught.value.advice == f"Did you mean {near}?"

    def test_nothing_near(self, tmp_path: Path):
        with pytest.raises(ConfigError, match=r"docs/settings\.md"):
            settings("zzzzzzzz = 1", tmp_path=tmp_path)

    def test_a_section_is_no_value_and_no_value_a_section(self, tmp_path: Path):
        with pytest.raises(ConfigError, match=r"gateway in .* is a section, not a value"):
            settings("gateway = 1", tmp_path=tmp_path)
        with pytest.raises(ConfigError, match=r"no setting \[app_mode\]"):
            settings("[app_mode]\nx = 1", tmp_path=tmp_path)


class TestWrong:
    def test_the_file_is_named(self, tmp_path: Path):
        with pytest.raises(ConfigError) as caught:
            settings("[gateway]\nport = 99999", tmp_path=tmp_path)
        assert caught.value.message == f"gateway.port is 99999 in {tmp_path / 'synapse.toml'}."
        assert caught.value.advice == "It must be a whole number from 0 to 65535."

    def test_the_variable_is_named(self, tmp_path: Path):
        with pytest.raises(ConfigError) as caught:
            settings(tmp_path=tmp_path, SYNAPSE_GATEWAY__PORT="http")
        assert caught.value.message == 'gateway.port is "http" in the environment variable SYNAPSE_GATEWAY__PORT.'

    @pytest.mark.parametrize(
        "text",
        [
            "[gateway]\nport = '8787'",
            "[gateway]\nhost = ''",
            "[gateway]\nmax_body_mb = 0",
            "[local]\nollama = 'http://a'",
            "[discovery]\nenabled = 1",
            "[shield]\nmode = 'strict'",
            "[shield]\ncountry = 'France'",
            "[timeouts]\nidle = 0",
            "[queue]\nsize = -1",
            "[store]\nfsync = 'true'",
            "[retention]\nledger_days = 0",
            "[prices]\nmodels = ['gpt-4o 2.5 10']",
            "app_mode = 'Local'",
            "state_dir = 'relative'",
            "[gateway.port]\nx = 1",
        ],
    )
    def test_wrong_values(self, tmp_path: Path, text: str):
        with pytest.raises(ConfigError, match="It must be "):
            settings(text, tmp_path=tmp_path)

    def test_an_empty_value_is_not_a_default(self, tmp_path: Path):
        with pytest.raises(ConfigError, match=r'app_mode is ""'):
            settings(tmp_path=tmp_path, APP_MODE="")

    @pytest.mark.parametrize("given", ["TLS_CERTIFICATE", "TLS_KEY"])
    def test_tls_files_come_in_pairs_and_with_their_mode(self, tmp_path: Path, given: str):
        one = {f"SYNAPSE_GATEWAY__{given}": "/etc/ssl/file.pem"}
        with pytest.raises(ConfigError, match=r'gateway\.tls is "files", and gateway\.tls_\w+ is missing'):
            settings(tmp_path=tmp_path, SYNAPSE_GATEWAY__TLS="files", **one)
        with pytest.raises(ConfigError, match=f'{given.lower()} is set, but gateway.tls is "auto"'):
            settings(tmp_path=tmp_path, SYNAPSE_GATEWAY__TLS="auto", **one)

    def test_tls_files_are_those_of_the_settings(self, tmp_path: Path):
        names = {"SYNAPSE_GATEWAY__TLS_CERTIFICATE": "/c.pem", "SYNAPSE_GATEWAY__TLS_KEY": "/k.pem"}
        found = settings(tmp_path=tmp_path, SYNAPSE_GATEWAY__TLS="files", **names)
        assert found.gateway.tls_files == (Path("/c.pem"), Path("/k.pem"))
        assert settings(tmp_path=tmp_path, SYNAPSE_GATEWAY__TLS="auto").gateway.tls_files is None

    @pytest.mark.parametrize("name", ["*.example", "a b", "192.168.1.1", "-a", "ä.example", ""])
    def test_a_tls_name_is_a_dns_name(self, tmp_path: Path, name: str):
        file = tmp_path / "names.toml"
        file.write_text(f'[gateway]\ntls_names = ["{name}"]\n', "utf-8")
        with pytest.raises(ConfigError, match="a DNS name"):
            load(file, {})


class TestPlaces:
    def test_without_a_word_state_is_the_platforms(self, home: Path):
        found = load(None, {"XDG_RUNTIME_DIR": "/nowhere"}, system_file=home / "none")
        assert found.state_dir == home / ".local/state/synapse"
        assert found.admin.socket == found.state_dir / "admin.sock"

    def test_the_login_s_runtime_directory(self, home: Path):
        run = home / "run"
        run.mkdir(mode=0o700)
        found = load(None, {"XDG_RUNTIME_DIR": str(run)}, system_file=home / "none")
        assert found.admin.socket == run / "synapse/admin.sock"

    @pytest.mark.parametrize("kind", ["open to others", "a link", "missing"])
    def test_a_runtime_directory_that_is_not_ours_alone_is_not_used(self, home: Path, kind: str):
        run = home / "run"
        if kind == "open to others":
            run.mkdir()
            run.chmod(0o777)
        elif kind == "a link":
            (home / "elsewhere").mkdir(mode=0o700)
            run.symlink_to(home / "elsewhere")
        found = load(None, {"XDG_RUNTIME_DIR": str(run)}, system_file=home / "none")
        assert found.admin.socket == found.state_dir / "admin.sock"

    def test_a_state_directory_of_its_own_keeps_its_own_socket(self, home: Path):
        run = home / "run"
        run.mkdir(mode=0o700)
        environ = {"XDG_RUNTIME_DIR": str(run), "SYNAPSE_STATE_DIR": str(home / "other")}
        assert load(None, environ, system_file=home / "none").admin.socket == home / "other/admin.sock"

    def test_the_directories_of_a_service(self, home: Path):
        environ = {"STATE_DIRECTORY": "/var/lib/synapse:/var/lib/more", "RUNTIME_DIRECTORY": "/run/synapse"}
        found = load(None, environ, system_file=home / "none")
        assert found.state_dir == Path("/var/lib/synapse")
        assert found.admin.socket == Path("/run/synapse/admin.sock")

    def test_a_setting_goes_before_the_services_default(self, tmp_path: Path):
        found = settings("state_dir = '/srv/synapse'", tmp_path=tmp_path, STATE_DIRECTORY="/var/lib/synapse")
        assert found.state_dir == Path("/srv/synapse")

    @pytest.mark.parametrize("name", ["STATE_DIRECTORY", "RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR", "SYNAPSE_CONFIG"])
    def test_an_empty_variable_of_the_system_is_none(self, home: Path, name: str):
        found = load(None, {"XDG_RUNTIME_DIR": "/nowhere", name: ""}, system_file=home / "none")
        assert found.state_dir == home / ".local/state/synapse"

    def test_a_socket_path_that_no_system_takes(self, tmp_path: Path):
        fits = "/" + "é" * 53
        assert len(os.fsencode(fits)) == 107
        assert settings(tmp_path=tmp_path, SYNAPSE_ADMIN_SOCKET=fits).admin.socket == Path(fits)
        with pytest.raises(ConfigError, match=r"108 bytes, and the system allows 107\. Set admin\.socket"):
            settings(tmp_path=tmp_path, SYNAPSE_ADMIN_SOCKET=fits + "x")


class TestDocs:
    """Source: style, "A setting that is not in the docs fails a test"."""

    def rows(self) -> dict[str, list[str]]:
        lines = [line for line in DOCS.read_text().splitlines() if line.startswith("| `")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        return {row[0].strip("`"): row[1:] for row in cells}

    def test_every_key_is_there_and_no_other(self):
        assert set(self.rows()) == set(known_keys())

    def test_with_its_default_and_a_meaning(self):
        for name, (default, meaning) in self.rows().items():
            assert len(meaning) > 15, name
            if name in DEFAULTS:
                assert default == f"`{_toml(DEFAULTS[name])}`", name

    def test_every_name_of_the_environment_is_explained(self):
        text = DOCS.read_text()
        for name in ("SYNAPSE_CONFIG", "SYNAPSE_STATE_DIR", "SYNAPSE_ADMIN_SOCKET", "APP_MODE", "STATE_DIRECTORY"):
            assert name in text


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"  # type: ignore[misc]  a tuple of strings
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not look")
def test_a_file_that_cannot_be_looked_for_is_no_reason_to_go_without(tmp_path: Path):
    """With defaults instead of what was written, a gateway would stand open that was meant to be closed."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    tmp_path.chmod(0o755)
    script = (
        "import os, sys, pathlib; from appliance.settings import file_of; from appliance.errors import ConfigError\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: file_of(None, {}, system_file=pathlib.Path(sys.argv[1]))\n"
        "except ConfigError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(closed / "synapse.toml")], capture_output=True, text=True, check=True
    )
    assert "cannot be seen (Permission denied)" in done.stdout
    assert "--config FILE" in done.stdout
