"""The facts of an installation where nothing is wrong, to plant one fault at a time in."""

from datetime import UTC, datetime, timedelta

from appliance.admin.node_wire import Node, NodeList
from appliance.admin.policy_wire import Provider, ProviderList
from appliance.admin.wire import ContextList, KeyCount, ModelContext, ModelList, RoleModel, Status
from appliance.backup.last import LastBackup
from appliance.doctor.facts import (
    ClockFacts,
    DaemonFacts,
    DatabaseFacts,
    DiskFacts,
    Facts,
    FileFact,
    MachineFacts,
    MdnsFacts,
    PortFacts,
    ServiceFacts,
    SocketFacts,
    StateFacts,
)

NOW = datetime(2026, 11, 29, 18, 57, tzinfo=UTC)

DIRECTORY = FileFact("/var/lib/synapse", "directory", 0o700, 990, "synapse")
FILE = FileFact("/var/lib/synapse/synapse.db", "file", 0o600, 990, "synapse")
SOCKET = FileFact("/run/synapse/admin.sock", "socket", 0o660, 990, "synapse")

STATE = StateFacts(DIRECTORY, (FILE,))
DATABASE = DatabaseFacts(
    bytes=5_000_000, schema=7, newest_schema=7, installation="office", newest_call=NOW - timedelta(minutes=1)
)
BACKUP = LastBackup(NOW - timedelta(days=1), "/mnt/office.backup", 5, True, "office")

NODE = Node(
    id="abcdefghijklmnopqrstuvwxyz",
    name="127.0.0.1:11434",
    state="active",
    trust="loopback",
    kind="ollama",
    url="http://127.0.0.1:11434",
    engine="ollama 0.32",
    models=("qwen3:8b",),
    slots=4,
    in_flight=0,
    roles=("full", "fast"),
)
MODELS = ModelList(
    (
        RoleModel("full", "qwen3:8b", "qwen3:8b", None, True),
        RoleModel("fast", None, "qwen3:8b", "full", True),
        RoleModel("embedding", None, None, None, False),
    ),
    (),
)
CONTEXT = ModelContext("127.0.0.1:11434", "qwen3:8b", ("full", "fast"), 32_768, 40_960)
PROVIDER = Provider("openai", "openai", "https://api.openai.com/v1", "gpt-4o", None, "2026-11-01T00:00:00Z", True)
STATUS = Status(
    version="0.1.0",
    pid=42,
    started="2026-11-29T00:00:00Z",
    app_mode="local",
    base_url="http://127.0.0.1:8787/v1",
    shield_mode="standard",
    active_provider="ollama",
    lanes=(),
    machines=(),
    keys=KeyCount(1, 0, 0),
    calls_in_flight=0,
    last_calls=(),
)
DAEMON = DaemonFacts(STATUS, NodeList((NODE,), "id", ("word",), 0), MODELS, ContextList((CONTEXT,)), ProviderList(()))

HEALTHY = Facts(
    config="/etc/synapse/synapse.toml",
    user="root",
    version="0.1.0",
    tls="off",
    state=STATE,
    database=DATABASE,
    disk=DiskFacts(50_000_000_000, 100_000_000_000),
    backup=BACKUP,
    clock=ClockFacts(NOW, True),
    socket=SocketFacts(SOCKET),
    port=PortFacts("0.0.0.0", 8787, "address already in use", "synapse (process 42)", answers=True),
    mdns=MdnsFacts(True, (), ("eth0",)),
    service=ServiceFacts(True, "loaded", "active", "enabled", "success"),
    daemon=DAEMON,
)

MACHINE = MachineFacts("http://127.0.0.1:11434", None, "ollama 0.32", ("qwen3:8b",))
