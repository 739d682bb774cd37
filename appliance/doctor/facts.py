"""What is known of an installation: frozen facts, without a judgement. How they are gathered is told elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from appliance.admin.node_wire import NodeList
from appliance.admin.policy_wire import ProviderCheck, ProviderList
from appliance.admin.wire import ContextList, ModelList, Status
from appliance.backup.last import LastBackup

Kind = Literal["absent", "file", "directory", "socket", "other", "hidden"]
"""Of a file. `hidden`: this user may not look."""


@dataclass(frozen=True, slots=True)
class FileFact:
    """`mode`: the permission bits. `owner`: a login name."""

    path: str
    kind: Kind
    mode: int = 0
    uid: int = -1
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What an error of ours says, and what it advises."""

    said: str
    advice: str


@dataclass(frozen=True, slots=True)
class StateFacts:
    """The state directory. `key_problem`: why the key file is none. `credential`: systemd gives the key. `holder`: the
    process that owns the directory, 0 where none does or it is not known. `unfinished`: a restore is. `replaced`: names
    of what restores have kept."""

    directory: FileFact
    files: tuple[FileFact, ...] = ()
    credential: bool = False
    key_there: bool = True
    key_problem: Problem | None = None
    holder: int = 0
    unfinished: bool = False
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """`problem`: why it could not be read. `faults`: what SQLite says of its pages; `thorough`: of its indexes too.
    `sealed_problem`: why what is sealed in it does not open; `closed_providers`: whose keys do not."""

    there: bool = True
    hidden: bool = False
    problem: str | None = None
    bytes: int = 0
    ours: bool = True
    schema: int = 0
    newest_schema: int = 0
    faults: tuple[str, ...] = ()
    thorough: bool = True
    installation: str | None = None
    newest_call: datetime | None = None
    sealed_problem: Problem | None = None
    closed_providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """Bytes, for the user of the daemon."""

    free: int
    total: int


@dataclass(frozen=True, slots=True)
class ClockFacts:
    """`synchronized`: whether something keeps it right, None where the system does not say."""

    now: datetime
    synchronized: bool | None = None


@dataclass(frozen=True, slots=True)
class SocketFacts:
    """The admin socket. `problem`: why no daemon could be asked, `denied`: it is this user who may not."""

    file: FileFact
    problem: str | None = None
    denied: bool = False


@dataclass(frozen=True, slots=True)
class PortFacts:
    """The gateway's. `problem`: why it could not be bound. `holder`: who has it, "" where that is not known. `answers`:
    whether a Synapse does; None where it was not asked."""

    host: str
    port: int
    problem: str | None = None
    holder: str = ""
    answers: bool | None = None


@dataclass(frozen=True, slots=True)
class MdnsFacts:
    """`chosen`: the interfaces that are used; `wanted`: those that the settings name. `problem`: why port 5353 cannot
    be shared, with its `holder`; `silent`: interfaces where what was sent did not come back."""

    enabled: bool
    wanted: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    problem: str | None = None
    holder: str = ""
    silent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """A machine of the settings, asked without a daemon. `problem`: why it cannot be used."""

    url: str
    problem: str | None = None
    engine: str = ""
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """The systemd unit, in systemd's words. `present`: whether systemd runs here."""

    present: bool
    load: str = ""
    active: str = ""
    enabled: str = ""
    result: str = ""


@dataclass(frozen=True, slots=True)
class DaemonFacts:
    """What the running daemon says. `checks`: trial calls to providers, by name; empty where none was made."""

    status: Status
    nodes: NodeList
    models: ModelList
    contexts: ContextList
    providers: ProviderList
    checks: Mapping[str, ProviderCheck] = field(default_factory=dict[str, ProviderCheck])


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything. `config`: the settings file, None where there is none. `user`: who looks, `version`: what is
    installed here. `daemon` is None where none could be asked, and `machines` are those of the settings then."""

    config: str | None
    user: str
    version: str
    tls: str
    state: StateFacts
    database: DatabaseFacts
    disk: DiskFacts | None
    backup: LastBackup | None
    clock: ClockFacts
    socket: SocketFacts
    port: PortFacts
    mdns: MdnsFacts
    service: ServiceFacts
    daemon: DaemonFacts | None = None
    machines: tuple[MachineFacts, ...] = ()
