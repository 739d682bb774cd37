"""The static settings: one file, the environment over it, and one frozen `Settings` out of both.

Each field declares its kind and its default here, and its meaning in docs/settings.md. Settings that change
while the daemon runs are not here: they live in the database. Reads the file and nothing else.

Source: operations.md, "Settings".
"""

import difflib
import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_type_hints

import platformdirs

from appliance.errors import ConfigError
from appliance.setting_rules import (
    AbsolutePath,
    Choice,
    Flag,
    Host,
    ListOf,
    Network,
    OwnPrice,
    OwnPrices,
    Rule,
    Seconds,
    SettingValueError,
    Text,
    Url,
    Whole,
)
from appliance.setting_rules import Questions as QuestionsRule

APP = "synapse"

SYSTEM_FILE = Path("/etc/synapse/synapse.toml")

SOCKET_PATH_BYTES = 107
"""What fits in a Unix socket's address on Linux (`sun_path` of 108 bytes, one of them the terminator)."""

DAY_SECONDS = 86_400

ALIASES = {"app_mode": "APP_MODE", "admin.socket": "SYNAPSE_ADMIN_SOCKET"}
"""Second names in the environment, beside SYNAPSE_<SECTION>__<KEY>."""

NOT_SETTINGS = frozenset({"SYNAPSE_CONFIG", "SYNAPSE_LOG", "SYNAPSE_API_KEY", "SYNAPSE_BASE_URL"})
"""Names of the environment that begin like a setting and are something else: the file, the log level of one
run, and what a client program on the same machine may read."""


DNS_NAME = r"(?=.{1,253}$)([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"

_NAME = Text(r"(?=.*\w)\S(.{0,98}\S)?", "a name or a word of at most 100 characters")


@dataclass(frozen=True, slots=True)
class Gateway:
    host: Annotated[str, Host()] = "0.0.0.0"  # noqa: S104  the office is to reach it
    port: Annotated[int, Whole(0, 65_535)] = 8787
    tls: Annotated[Literal["off", "auto", "files"], Choice(("off", "auto", "files"))] = "off"
    tls_names: Annotated[tuple[str, ...], ListOf(Text(DNS_NAME, "a DNS name"))] = ()
    tls_certificate: Annotated[Path | None, AbsolutePath()] = None
    tls_key: Annotated[Path | None, AbsolutePath()] = None
    max_body_mb: Annotated[int, Whole(1, 1024)] = 32

    @property
    def tls_files(self) -> tuple[Path, Path] | None:
        """Certificate and key, where `tls` is "files"."""
        return (self.tls_certificate, self.tls_key) if self.tls_certificate and self.tls_key else None


@dataclass(frozen=True, slots=True)
class Admin:
    socket: Annotated[Path, AbsolutePath()]


@dataclass(frozen=True, slots=True)
class Local:
    ollama: Annotated[tuple[str, ...], ListOf(Url())] = ("http://127.0.0.1:11434",)
    context: Annotated[int, Whole(0, 1_048_576)] = 0
    networks: Annotated[tuple[IPv4Network | IPv6Network, ...], ListOf(Network())] = ()


@dataclass(frozen=True, slots=True)
class Discovery:
    enabled: Annotated[bool, Flag()] = True
    interfaces: Annotated[tuple[str, ...], ListOf(Text(r"[^\s/]{1,15}", "the name of a network interface"))] = ()


@dataclass(frozen=True, slots=True)
class Shield:
    mode: Annotated[Literal["standard", "medical", "off"], Choice(("standard", "medical", "off"))] = "standard"
    country: Annotated[str, Text(r"[A-Z]{2}", 'a country code of two capitals, such as "FR"')] = "FR"
    names: Annotated[tuple[str, ...], ListOf(_NAME)] = ()
    ignore: Annotated[tuple[str, ...], ListOf(_NAME)] = ()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds."""

    connect: Annotated[float, Seconds(0.1, DAY_SECONDS)] = 5.0
    first_byte: Annotated[float, Seconds(0.1, DAY_SECONDS)] = 900.0
    idle: Annotated[float, Seconds(0.1, DAY_SECONDS)] = 120.0
    total: Annotated[float, Seconds(0.1, DAY_SECONDS)] = 1800.0
    drain: Annotated[float, Seconds(0, DAY_SECONDS)] = 25.0


@dataclass(frozen=True, slots=True)
class Queue:
    size: Annotated[int, Whole(0, 100_000)] = 64
    wait: Annotated[float, Seconds(0, DAY_SECONDS)] = 30.0


@dataclass(frozen=True, slots=True)
class Store:
    fsync: Annotated[bool, Flag()] = False


@dataclass(frozen=True, slots=True)
class Retention:
    ledger_days: Annotated[int, Whole(1, 36_500)] = 400


@dataclass(frozen=True, slots=True)
class Questions:
    """Of one answer, by the class of the model; in thousandths."""

    local: Annotated[int, QuestionsRule()] = 250
    fast: Annotated[int, QuestionsRule()] = 1_000
    full: Annotated[int, QuestionsRule()] = 4_000


@dataclass(frozen=True, slots=True)
class Prices:
    models: Annotated[tuple[OwnPrice, ...], OwnPrices()] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    state_dir: Annotated[Path, AbsolutePath()]
    admin: Admin
    app_mode: Annotated[Literal["local", "cloud"], Choice(("local", "cloud"))] = "local"
    gateway: Gateway = field(default_factory=Gateway)
    local: Local = field(default_factory=Local)
    discovery: Discovery = field(default_factory=Discovery)
    shield: Shield = field(default_factory=Shield)
    timeouts: Timeouts = field(default_factory=Timeouts)
    queue: Queue = field(default_factory=Queue)
    store: Store = field(default_factory=Store)
    retention: Retention = field(default_factory=Retention)
    questions: Questions = field(default_factory=Questions)
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: `section.name`, its rule, and its default (None where it depends on the machine)."""

    name: str
    rule: Rule
    default: object

    @property
    def variable(self) -> str:
        return "SYNAPSE_" + self.name.upper().replace(".", "__")


@cache
def known_keys() -> Mapping[str, Key]:
    """Every setting by name, in the order of the classes above."""
    return {key.name: key for key in _keys_of(Settings, "")}


def load(config: Path | None, environ: Mapping[str, str], *, system_file: Path = SYSTEM_FILE) -> Settings:
    """Read the settings of this machine.

    Args:
        config: the file that the command line names, else None for the usual places.
        environ: the environment; what it says goes before the file.
        system_file: the place of the file for the whole machine.

    Raises:
        ConfigError: a file that was named cannot be read, a key is unknown, a value is not allowed.
    """
    values: dict[str, object] = {}
    file = file_of(config, environ, system_file=system_file)
    if file is not None:
        values |= _from_file(file)
    values |= _from_environment(environ)
    return _settings(values, environ)


def _keys_of(cls: type, prefix: str) -> list[Key]:
    hints = get_type_hints(cls, include_extras=True)
    keys: list[Key] = []
    for item in fields(cls):
        hint = hints[item.name]
        if is_dataclass(hint):
            keys += _keys_of(cast(type, hint), f"{item.name}.")
        else:
            default = None if item.default is MISSING else item.default
            keys.append(Key(prefix + item.name, hint.__metadata__[0], default))
    return keys


def file_of(config: Path | None, environ: Mapping[str, str], *, system_file: Path = SYSTEM_FILE) -> Path | None:
    """The file that `load` reads, None where there is none."""
    if config is not None:
        return config
    if named := environ.get("SYNAPSE_CONFIG"):
        return Path(named)
    usual = (system_file, platformdirs.user_config_path(APP) / "synapse.toml")
    return next((path for path in usual if _is_there(path)), None)


def _is_there(path: Path) -> bool:
    """Not where it cannot be known: with other settings than those that were written, much would be open."""
    try:
        return path.exists()
    except OSError as error:
        raise ConfigError(
            f"Whether there is a configuration file {path} cannot be seen ({error.strerror}).",
            advice="Let this user look into its directory, or name a file: --config FILE.",
        ) from error


def _from_file(path: Path) -> dict[str, object]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"The configuration file {path} cannot be read ({error.strerror}).",
            advice="Give the right path, or leave --config and SYNAPSE_CONFIG out to use the defaults.",
        ) from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise ConfigError(
            f"The configuration file {path} is not TOML ({error}).", advice="Correct it at that place."
        ) from error
    values: dict[str, object] = {}
    for name, value in _flat(table, path).items():
        key = known_keys().get(name)
        if key is None:
            raise _unknown(name, known_keys(), f"in {path}")
        values[name] = _checked(key, value, f"in {path}")
    return values


def _flat(table: Mapping[str, Any], path: Path) -> dict[str, object]:
    sections = {name.partition(".")[0] for name in known_keys() if "." in name}
    flat: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": inner for key, inner in cast(dict[str, object], value).items()}
            if name not in sections:
                raise _unknown(f"[{name}]", [f"[{section}]" for section in sections], f"in {path}")
        elif name in sections:
            raise ConfigError(
                f"{name} in {path} is a section, not a value.", advice=f"Write [{name}] and its keys below it."
            )
        else:
            flat[name] = value
    return flat


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    names = {key.variable: key for key in known_keys().values()}
    names |= {alias: known_keys()[name] for name, alias in ALIASES.items()}
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    for name in sorted(environ):
        if (key := names.get(name)) is not None:
            value = _checked(key, key.rule.read(environ[name]), f"in the environment variable {name}")
            if values.setdefault(key.name, value) != value:
                raise ConfigError(
                    f"{sources[key.name]} and {name} in the environment disagree about {key.name}.",
                    advice="Unset one of them.",
                )
            sources[key.name] = name
        elif name.startswith("SYNAPSE_") and name not in NOT_SETTINGS:
            raise _unknown(name, names, "in the environment")
    return values


def _checked(key: Key, value: object, where: str) -> object:
    try:
        return key.rule.check(value)
    except SettingValueError as wrong:
        raise ConfigError(f"{key.name} is {wrong} {where}.", advice=f"It must be {key.rule.allowed}.") from wrong


def _unknown(name: str, known: Iterable[str], where: str) -> ConfigError:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)
    advice = f"Did you mean {near[0]}?" if near else "Take it out; docs/settings.md lists all that there are."
    return ConfigError(f"There is no setting {name} ({where}).", advice=advice)


def _settings(values: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    state_dir, chosen = _state_dir(values, environ)
    values = {
        "admin.socket": _runtime_dir(state_dir, chosen, environ) / "admin.sock",
        **values,
        "state_dir": state_dir,
    }
    settings = cast(Settings, _build(Settings, "", values))
    _check_socket(settings.admin.socket)
    _check_tls(settings.gateway)
    return settings


def _build(cls: type, prefix: str, values: Mapping[str, object]) -> object:
    hints = get_type_hints(cls)
    given: dict[str, object] = {}
    for item in fields(cls):
        if is_dataclass(hints[item.name]):
            given[item.name] = _build(hints[item.name], f"{item.name}.", values)
        elif prefix + item.name in values:
            given[item.name] = values[prefix + item.name]
    return cls(**given)


def _state_dir(values: Mapping[str, object], environ: Mapping[str, str]) -> tuple[Path, bool]:
    """The state directory, and whether somebody chose it. systemd names its own in STATE_DIRECTORY."""
    if "state_dir" in values:
        return cast(Path, values["state_dir"]), True
    if given := environ.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0]), True
    return platformdirs.user_state_path(APP), False


def _runtime_dir(state_dir: Path, chosen: bool, environ: Mapping[str, str]) -> Path:
    """Where the socket goes unless a setting says so.

    With a state directory of its own choice a daemon keeps its socket there: two daemons of one user would
    otherwise meet on one socket, and a command would reach the wrong one.
    """
    if given := environ.get("RUNTIME_DIRECTORY"):
        return Path(given.split(":")[0])
    login = Path(environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    return login / APP if not chosen and _is_ours(login) else state_dir


def _is_ours(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and found.st_mode & 0o077 == 0


def _check_tls(gateway: Gateway) -> None:
    """What only one mode uses, given with another, is somebody's mistake about what is served."""
    named = {"gateway.tls_certificate": gateway.tls_certificate, "gateway.tls_key": gateway.tls_key}
    for name, value in named.items():
        if value is None and gateway.tls == "files":
            raise ConfigError(f'gateway.tls is "files", and {name} is missing.', advice="Give both, as PEM files.")
        if value is not None and gateway.tls != "files":
            raise ConfigError(
                f'{name} is set, but gateway.tls is "{gateway.tls}".',
                advice='Set gateway.tls to "files", or take it out.',
            )


def _check_socket(path: Path) -> None:
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_BYTES:
        raise ConfigError(
            f"The admin socket's path {path} is too long: {length} bytes, and the system allows {SOCKET_PATH_BYTES}.",
            advice="Set admin.socket (SYNAPSE_ADMIN_SOCKET) to a shorter one, such as /run/synapse/admin.sock.",
        )
