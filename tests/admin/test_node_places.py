import asyncio
import ipaddress
import socket
import ssl
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from appliance.admin import node_places
from appliance.admin.node_places import JOIN_PORT, MAX_CA_BYTES, of_node, open_row
from appliance.admin.node_wire import NewNode
from appliance.admin.wire import InvalidInput
from appliance.cluster.addresses import PRIVATE, Inside, id_at
from appliance.cluster.identity import Identity
from appliance.store import nodes
from appliance.store.sealing import Sealer

SEALER = Sealer(bytes(32))
KEY = "sk-a-key-that-nobody-may-see"
IDENTITY = Identity.create()
PEM = x509.load_der_x509_certificate(IDENTITY.certificate).public_bytes(Encoding.PEM).decode()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names resolve to; any other does not."""
    known: dict[str, list[str]] = {}

    async def getaddrinfo(_: object, host: str, *__: Any, **___: Any) -> list[Any]:
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 0)) for one in known[host]]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return known


async def refused(new: NewNode, inside: Inside = PRIVATE) -> str:
    with pytest.raises(InvalidInput) as caught:
        await (of_node(new, inside) if node_places.is_node(new.url) else open_row(new, SEALER, inside))
    assert caught.value.advice
    return str(caught.value)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("url", "name", "kept"),
    [
        ("http://192.168.1.20:11434", "192.168.1.20:11434", "http://192.168.1.20:11434"),
        ("http://192.168.1.20:11434/", "192.168.1.20:11434", "http://192.168.1.20:11434"),
        ("http://10.0.0.1", "10.0.0.1", "http://10.0.0.1"),
        ("http://127.0.0.1:9", "127.0.0.1:9", "http://127.0.0.1:9"),
        ("http://[fd00::5]:11434", "fd00::5:11434", "http://[fd00::5]:11434"),
        ("http://[::1]", "::1", "http://[::1]"),
        ("https://[::ffff:10.0.0.1]", "::ffff:10.0.0.1", "https://[::ffff:10.0.0.1]"),
    ],
)
async def test_addresses_inside(url: str, name: str, kept: str):
    row, key = await open_row(NewNode(url), SEALER, PRIVATE)
    assert (row.name, row.url, row.trust, row.way, row.state) == (name, kept, "open", "administrator", "admitted")
    assert (row.id, row.slots, row.ca, row.sealed, row.certificate, key) == (id_at(url), None, None, None, None, None)


async def test_a_name_that_leads_inside(names: dict[str, list[str]]):
    names["gpu-box.office"] = ["192.168.1.9", "fd00::9", "fe80::1%eth0"]
    row, _ = await open_row(NewNode("http://gpu-box.office:11434", name="GPU"), SEALER, PRIVATE)
    assert (row.name, row.url) == ("GPU", "http://gpu-box.office:11434")


@pytest.mark.parametrize("url", ["https://api.example.com", "https://api.example.com/v1", "synapse://api.example.com"])
@pytest.mark.parametrize("addresses", [["93.184.216.34"], ["10.0.0.1", "93.184.216.34"], ["2606:2800:220:1::1"]])
async def test_what_is_called_local_must_be_local(names: dict[str, list[str]], url: str, addresses: list[str]):
    # cluster.md, "Node agent and trust".
    names["api.example.com"] = addresses
    said = await refused(NewNode(url, "openai-compatible" if url.endswith("v1") else "ollama"))
    assert "is not inside this network, so it cannot be called local" in said
    assert "`synapse provider add`" in said


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    "url",
    [
        "http://8.8.8.8:11434",
        "synapse://8.8.8.8",
        "http://0.0.0.0:11434",
        "http://[::ffff:8.8.8.8]",
        "http://[64:ff9b::808:808]",
        "synapse://[2001:4860:4860::8888]",
        "http://100.64.0.1",
    ],
)
async def test_addresses_outside(url: str):
    said = await refused(NewNode(url))
    assert "is not inside this network" in said
    assert "`synapse provider add`" in said


async def test_a_number_is_no_way_around(names: dict[str, list[str]]):
    names["134744072"] = ["8.8.8.8"]  # as inet_aton(3) reads it
    assert "is not inside this network" in await refused(NewNode("http://134744072"))


@pytest.mark.usefixtures("names")
async def test_networks_that_the_settings_list_are_inside():
    inside = Inside((ipaddress.ip_network("100.64.0.0/10"),))
    row, _ = await open_row(NewNode("http://100.64.0.1"), SEALER, inside)
    assert row.url == "http://100.64.0.1"
    assert (await of_node(NewNode("synapse://100.64.0.1"), inside)).addresses == ("100.64.0.1",)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("url", ["http://nowhere.example:11434", "synapse://nowhere.example"])
async def test_a_name_that_nobody_knows(url: str):
    assert await refused(NewNode(url)) == (
        "No address was found for nowhere.example. Check its name, or give its address; a service outside is added"
        " with `synapse provider add`."
    )


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".local", "é" * 64])
@pytest.mark.parametrize("scheme", ["http", "synapse"])
async def test_a_name_that_no_resolver_takes(scheme: str, host: str):
    """Python's own encoding of names refuses it, before anybody is asked."""
    assert "No address was found for" in await refused(NewNode(f"{scheme}://{host}"))


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "192.168.1.20:11434",
        "192.168.1.20",
        "ftp://192.168.1.20",
        "http://",
        "http://:11434",
        "http://192.168.1.20:99999",
        "http://192.168.1.20:x",
        "http://[::1",
        "http://192.168.1.20?a=b",
        "http://192.168.1.20#a",
        "http://192.168.1.20/v1",
        "http://192.168.1.20:11434/api",
        "http://192.168.1.20 :11434",
        "http://192.168.1.20\n:11434",
        "http://192.168.1.20/\x1b[31m",
        "http://192.168.1.20/\u202e",
        "http://192.168.1.20/" + "a" * 3000,
        "synapse://",
        "synapse://:11436",
        "synapse://192.168.1.20:99999",
        "synapse://192.168.1.20/path",
        "synapse://192.168.1.20?a",
        "synapse://192.168.1.20#a",
        "synapse://[::1",
    ],
)
async def test_what_is_no_address(url: str):
    said = await refused(NewNode(url))
    assert "Write it like" in said
    assert said.isprintable()


@pytest.mark.usefixtures("names")
async def test_an_openai_compatible_server_has_a_path():
    row, _ = await open_row(NewNode("http://10.0.0.1:8000/v1/", "openai-compatible"), SEALER, PRIVATE)
    assert (row.kind, row.url) == ("openai-compatible", "http://10.0.0.1:8000/v1")
    assert "--kind openai-compatible" in " ".join((await refused(NewNode("http://10.0.0.1:8000/v1/"))).split())


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    "url",
    [
        "http://zoe:hunter2@10.0.0.1:11434",
        "http://zoe:hunter2@8.8.8.8",
        "synapse://zoe:hunter2@10.0.0.1",
        "http://:hunter2@",
    ],
)
async def test_a_password_in_an_address_is_refused_and_not_repeated(url: str):
    assert "hunter2" not in await refused(NewNode(url))


class TestKey:
    @pytest.mark.usefixtures("names")
    async def test_it_is_sealed_for_this_machine_alone(self):
        row, key = await open_row(NewNode("http://10.0.0.1", key=KEY), SEALER, PRIVATE)
        assert key == KEY
        assert row.sealed is not None
        assert KEY.encode() not in row.sealed
        assert KEY not in repr(row)
        assert nodes.key_of(row, SEALER) == KEY

    @pytest.mark.usefixtures("names")
    @pytest.mark.parametrize("key", ["", "hunter2 ", "hun ter2", "hunter2\n", "hunter2é", "hunter2" * 999])
    async def test_what_is_no_key_is_not_repeated(self, key: str):
        said = await refused(NewNode("http://10.0.0.1", key=key))
        assert said.startswith("That is no key")
        assert "hunter2" not in said


class TestCa:
    @pytest.mark.usefixtures("names")
    async def test_certificates_are_kept_as_they_are(self):
        row, _ = await open_row(NewNode("https://10.0.0.1", ca=PEM + PEM), SEALER, PRIVATE)
        assert row.ca == PEM + PEM
        ssl.create_default_context(cadata=row.ca)

    @pytest.mark.usefixtures("names")
    @pytest.mark.parametrize(
        ("ca", "said"),
        [
            ("", "holds no certificate"),
            ("\n", "holds no certificate"),
            ("hello", "holds no certificate"),
            ("é", "holds no certificate"),
            (PEM[:-40], "holds no certificate"),
            (PEM.replace("M", "*"), "holds no certificate"),
            (PEM + "\n" * MAX_CA_BYTES, "has more than 64 KiB"),
            (IDENTITY.pem().decode(), "holds a private key, which the gateway is not to have"),
        ],
        ids=["empty", "blank", "text", "not ASCII", "cut", "damaged", "long", "with its key"],
    )
    async def test_what_holds_none(self, ca: str, said: str):
        assert said in await refused(NewNode("https://10.0.0.1", ca=ca))


class TestName:
    @pytest.mark.usefixtures("names")
    @pytest.mark.parametrize("name", [" desk", "desk\x1b[31m", "a\nb", "x" * 65, "\u202edesk"])
    async def test_what_is_no_name(self, name: str):
        assert "That is no name" in await refused(NewNode("http://10.0.0.1", name=name))

    async def test_a_long_address_is_a_name_all_the_same(self, names: dict[str, list[str]]):
        host = ".".join(["a-long-part"] * 9)
        names[host] = ["10.0.0.1"]
        row, _ = await open_row(NewNode(f"http://{host}:11434"), SEALER, PRIVATE)
        assert row.name == f"{host}:11434"[-64:]


class TestNode:
    @pytest.mark.usefixtures("names")
    @pytest.mark.parametrize(
        ("url", "addresses", "port"),
        [
            ("synapse://192.168.1.20", ("192.168.1.20",), JOIN_PORT),
            ("synapse://192.168.1.20/", ("192.168.1.20",), JOIN_PORT),
            ("SYNAPSE://192.168.1.20:7", ("192.168.1.20",), 7),
            ("synapse://[fd00::1]:7", ("fd00::1",), 7),
            ("synapse://127.0.0.1", ("127.0.0.1",), JOIN_PORT),
        ],
    )
    async def test_addresses(self, url: str, addresses: tuple[str, ...], port: int):
        place = await of_node(NewNode(url), PRIVATE)
        assert (place.addresses, place.join_port, place.data_port) == (addresses, port, 11_435)

    async def test_all_addresses_of_a_name_each_once(self, names: dict[str, list[str]]):
        names["desk.local"] = ["fd00::1", "10.0.0.1", "10.0.0.1"]
        assert (await of_node(NewNode("synapse://desk.local"), PRIVATE)).addresses == ("fd00::1", "10.0.0.1")
        names["many.local"] = [f"10.0.0.{n}" for n in range(200)]
        assert len((await of_node(NewNode("synapse://many.local"), PRIVATE)).addresses) == 8

    @pytest.mark.usefixtures("names")
    @pytest.mark.parametrize(
        "more", [{"name": "desk"}, {"key": KEY}, {"ca": PEM}, {"slots": 4}, {"kind": "openai-compatible"}]
    )
    async def test_what_a_node_says_itself_is_not_ignored_in_silence(self, more: dict[str, Any]):
        said = await refused(NewNode("synapse://10.0.0.1", **more))
        assert said.endswith("Give synapse://HOST alone.")
        assert KEY not in said


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://127.0.0.1:11434", "http://localhost:11434", True),
        ("http://127.0.0.1:11434", "http://[::1]:11434", True),
        ("http://127.0.0.1:11434", "HTTP://LOCALHOST:11434/", True),
        ("http://10.0.0.1", "http://10.0.0.1:80", True),
        ("http://10.0.0.1:443", "https://10.0.0.1", True),
        ("http://[fd00::1]:1", "http://[fd00:0::1]:1", True),
        ("http://Box:1", "http://box:1", True),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11435", False),
        ("http://10.0.0.1:1", "http://10.0.0.2:1", False),
        ("http://10.0.0.1:1/a/v1", "http://10.0.0.1:1/b/v1", False),
    ],
)
def test_one_place_by_two_addresses(one: str, other: str, same: bool):
    assert node_places.same(one, other) is node_places.same(other, one) is same
