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

from appliance.admin.changes import clean_name
from appliance.admin.node_wire import NewNode
from appliance.admin.provider_changes import KEY
from appliance.admin.wire import InvalidInput
from appliance.cluster.addresses import Inside, at_url, host_of, literal, outside
from appliance.errors import ConfigError
from appliance.store import nodes
from appliance.store.nodes import NodeRow
from appliance.store.sealing import Sealer

NODE_SCHEME = "synapse://"
"""Before the address of a machine on which `synapse node serve` runs."""

DATA_PORT = 11_435
JOIN_PORT = 11_436

MAX_CA_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a node's join port is."""

    address: str
    join_port: int
    data_port: int = DATA_PORT


async def of_node(url: str, inside: Inside) -> NodePlace:
    """Of `synapse://HOST[:JOIN PORT]`. Raises InvalidInput: it is not of that form, or leads outside the building."""
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
    return NodePlace(str((await _local_addresses(url, host, inside))[0]), port or JOIN_PORT)


async def open_row(new: NewNode, sealer: Sealer, inside: Inside) -> tuple[NodeRow, str | None]:
    """What is to be kept of a machine that is known by its address, and its key in the clear. Raises InvalidInput."""
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
    await _local_addresses(new.url, host_of(new.url), inside)
    if new.key is not None and not KEY.fullmatch(new.key):
        raise InvalidInput(
            "That is no key: it has a space or another character that no key has.", advice="Copy it again."
        )
    row = NodeRow(
        id=machine.id,
        name=clean_name(machine.name),
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


async def _local_addresses(url: str, host: str, inside: Inside) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Those of the host, all inside the building. They are checked again at every connect."""
    address = literal(host)
    if address is not None:
        found = [address]
    else:
        try:
            infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except OSError:
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
    try:
        if len(pem) > MAX_CA_BYTES:
            raise ValueError(len(pem))
        ssl.create_default_context(cadata=pem)
    except (ValueError, ssl.SSLError):
        raise InvalidInput(
            "The certificate authority's file holds no certificate.",
            advice="Give it in PEM: it begins with -----BEGIN CERTIFICATE-----.",
        ) from None
    return pem
