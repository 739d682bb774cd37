"""Typed addresses of machines, checked and resolved: what is called local must be local.

Source: cluster.md, "Node agent and trust": `node add https://api.example.com` is refused with the advice to add a
provider.
"""

import asyncio
import ipaddress
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from appliance.admin.changes import NAME_CHARACTERS, clean_name
from appliance.admin.node_wire import NewNode
from appliance.admin.provider_changes import KEY
from appliance.admin.wire import InvalidInput
from appliance.cluster.addresses import Inside, at_url, host_of, is_loopback, literal, outside, port_of
from appliance.cluster.places import MAX_PLACES
from appliance.errors import ConfigError
from appliance.store import nodes
from appliance.store.nodes import NodeRow
from appliance.store.sealing import Sealer

NODE_SCHEME = "synapse://"
"""Before the address of a machine on which `synapse node serve` runs."""

DATA_PORT = 11_435
JOIN_PORT = 11_436

MAX_CA_BYTES = 64 * 1024
MAX_URL_CHARACTERS = 2_048


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a node's join port is; at one of the addresses, the first of which is the likeliest."""

    addresses: tuple[str, ...]
    join_port: int
    data_port: int = DATA_PORT


def is_node(url: str) -> bool:
    """Whether it is meant as a node's own address."""
    return url.lower().startswith(NODE_SCHEME)


async def of_node(new: NewNode, inside: Inside) -> NodePlace:
    """Of `synapse://HOST[:JOIN PORT]`, which stands alone: all else a node says itself.

    Raises:
        InvalidInput: it is not of that form, leads outside the building, or does not stand alone.
    """
    url = new.url
    if new != NewNode(url):
        raise InvalidInput(
            "A node says itself what it is called and how many calls it takes, and needs no key.",
            advice=f"Give {NODE_SCHEME}HOST alone.",
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if not host or "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise InvalidInput(
            "That is no address of a node.",
            advice=f"Write it like {NODE_SCHEME}192.168.1.20, with a port if it is not {JOIN_PORT}.",
        )
    found = await _local_addresses(url, host, inside)
    return NodePlace(tuple(dict.fromkeys(str(one) for one in found))[:MAX_PLACES], port or JOIN_PORT)


async def open_row(new: NewNode, sealer: Sealer, inside: Inside) -> tuple[NodeRow, str | None]:
    """What is to be kept of a machine that is known by its address, and its key in the clear. Raises InvalidInput."""
    # urlsplit leaves some of what is not printable out without a word.
    if len(new.url) > MAX_URL_CHARACTERS or not new.url.isprintable() or " " in new.url:
        raise InvalidInput("That is no address of a machine.", advice="Write it like http://192.168.1.20:11434.")
    try:
        machine = at_url(new.url, kind=new.kind, name=new.name, inside=inside)
    except ConfigError as error:
        raise InvalidInput(error.message, advice=error.advice) from None
    if new.kind == "ollama" and urlsplit(machine.url).path not in ("", "/"):
        raise InvalidInput(
            "Ollama's address has no path.",
            advice="Write it like http://192.168.1.20:11434; a server that speaks OpenAI's API needs --kind"
            " openai-compatible.",
        )
    if new.ca is not None and urlsplit(machine.url).scheme != "https":
        raise InvalidInput("An authority is trusted over https alone.", advice="Write the URL with https://.")
    await _local_addresses(new.url, host_of(new.url), inside)
    if new.key is not None and not KEY.fullmatch(new.key):
        raise InvalidInput(
            "That is no key: it has a space or another character that no key has.", advice="Copy it again."
        )
    row = NodeRow(
        id=machine.id,
        name=clean_name(new.name or machine.name[-NAME_CHARACTERS:]),
        trust="open",
        kind=new.kind,
        url=machine.url,
        way="administrator",
        state="admitted",
        changed_ms=0,
        ca=_checked_ca(new.ca),
        slots=new.slots,
        sealed=None if new.key is None else nodes.seal_key(sealer, machine.id, new.key),
    )
    return row, new.key


def same(one: str, other: str) -> bool:
    """Whether two URLs of machines lead to one place, however it is written; what names resolve to is not asked."""
    return _place(one) == _place(other)


def _place(url: str) -> tuple[object, ...]:
    host = host_of(url)
    return ("loopback" if is_loopback(host) else literal(host) or host, port_of(url), urlsplit(url).path.rstrip("/"))


async def _local_addresses(url: str, host: str, inside: Inside) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Those of the host, all inside the building. They are checked again at every connect."""
    address = literal(host)
    if address is not None:
        found = [address]
    else:
        try:
            infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):  # the second: a part of the name is empty or too long
            raise InvalidInput(
                f"No address was found for {host}.",
                advice="Check its name, or give its address; a service outside is added with `synapse provider add`.",
            ) from None
        found = [ipaddress.ip_address(str(info[4][0]).partition("%")[0]) for info in infos]
    if not all(inside.holds(one) for one in found):
        refused = outside(url)
        raise InvalidInput(refused.message, advice=refused.advice)
    return found


def _checked_ca(pem: str | None) -> str | None:
    if pem is None:
        return None
    if len(pem) > MAX_CA_BYTES:
        raise InvalidInput(
            f"The file of certificates has more than {MAX_CA_BYTES // 1024} KiB.",
            advice="Give the one authority that the machine's certificate is of.",
        )
    if "PRIVATE KEY" in pem:
        raise InvalidInput(
            "The file of certificates holds a private key, which the gateway is not to have.",
            advice="Give the part from -----BEGIN CERTIFICATE----- on alone.",
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except (ValueError, TypeError, ssl.SSLError):  # TypeError: it is not ASCII
        raise InvalidInput(
            "The certificate authority's file holds no certificate.",
            advice="Give it in PEM: it begins with -----BEGIN CERTIFICATE-----.",
        ) from None
    return pem
