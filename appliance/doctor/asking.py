"""Asks the running daemon what only it knows; without one, the machines of the settings themselves."""

import asyncio
import os
from typing import Any

import aiohttp

from appliance.admin.client import Client
from appliance.admin.wire import AccessDenied, DaemonDown
from appliance.cluster.addresses import Inside, at_url
from appliance.cluster.connections import open_session
from appliance.cluster.machine import canonical, leaves_the_building
from appliance.doctor.facts import DaemonFacts, FileFact, MachineFacts, SocketFacts
from appliance.errors import AdminError, ConfigError
from appliance.settings import Settings

SECONDS = 5.0


async def daemon(client: Client, file: FileFact, *, online: bool) -> tuple[SocketFacts, DaemonFacts | None]:
    """`online`: with a trial call to every external provider that is configured."""
    try:
        status = await client.status()
        nodes, models, contexts = await client.nodes(), await client.models(), await client.contexts()
        providers = await client.providers()
        checks = {
            one.name: await client.test_provider(one.name) for one in providers.providers if online and one.configured
        }
    except DaemonDown as error:
        return SocketFacts(file, error.message), None
    except AdminError as error:
        return SocketFacts(file, error.message, isinstance(error, AccessDenied)), None
    return SocketFacts(file), DaemonFacts(status, nodes, models, contexts, providers, checks)


async def gateway_answers(host: str, port: int) -> bool:
    """Whether something that speaks as our gateway does is there."""
    there = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound
    url = f"http://[{there}]:{port}/healthz" if ":" in there else f"http://{there}:{port}/healthz"
    try:
        async with _session() as session, session.get(url) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


async def machines(settings: Settings) -> tuple[MachineFacts, ...]:
    """The machines of the settings, all at once."""
    inside = Inside(settings.local.networks)
    async with open_session(inside=inside, connect_seconds=SECONDS) as session:
        return tuple(await asyncio.gather(*(_machine(session, url, inside) for url in settings.local.ollama)))


async def _machine(session: aiohttp.ClientSession, url: str, inside: Inside) -> MachineFacts:
    limits = aiohttp.ClientTimeout(total=SECONDS)
    try:
        at = at_url(url, inside=inside).url
        async with session.get(f"{at}/api/version", allow_redirects=False, timeout=limits) as answer:
            version: Any = await answer.json(content_type=None)
        async with session.get(f"{at}/api/tags", allow_redirects=False, timeout=limits) as answer:
            tags: Any = await answer.json(content_type=None)
        names = [(str(one["name"]), one.get("remote_host")) for one in tags["models"]]
        engine = f"ollama {version['version']}"
    except ConfigError as error:
        return MachineFacts(url, error.message.rstrip("."))
    except aiohttp.ClientConnectorError as error:
        return MachineFacts(url, _reason(error.os_error))
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return MachineFacts(url, "it does not answer in time" if isinstance(error, TimeoutError) else "it breaks off")
    except (ValueError, TypeError, KeyError, AttributeError):
        return MachineFacts(url, "it answers, and not as Ollama does")
    local = tuple(canonical(name) for name, remote in names if not leaves_the_building(name, remote))
    return MachineFacts(url, None, engine, local)


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS), trust_env=False)


def _reason(error: OSError) -> str:
    """The system's own words. asyncio's, of a call that failed, name an address and no reason."""
    return os.strerror(error.errno).lower() if error.errno and error.errno > 0 else error.strerror or str(error)
