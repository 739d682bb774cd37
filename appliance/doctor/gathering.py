"""Gathers every fact, at the edge. Changes nothing."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from appliance import DISTRIBUTION
from appliance.admin.client import Client
from appliance.admin.peers import login_of
from appliance.backup import last
from appliance.doctor import asking, files, network, storage, system
from appliance.doctor.facts import Facts
from appliance.settings import Settings


async def gather(
    settings: Settings, environ: Mapping[str, str], *, config: Path | None, now: datetime, online: bool
) -> Facts:
    """`config`: the settings file that was read. `online`: external providers are called."""
    state_dir, gateway, discovery = settings.state_dir, settings.gateway, settings.discovery
    async with Client(settings.admin.socket) as client:
        socket, daemon = await asking.daemon(client, files.file(settings.admin.socket), online=online)
    port = network.gateway_port(gateway.host, gateway.port)
    if daemon is not None and gateway.port:
        port = replace(port, answers=await asking.gateway_answers(gateway.host, gateway.port))
    return Facts(
        config=None if config is None else str(config),
        user=login_of(os.getuid()),
        version=version(DISTRIBUTION),
        tls=gateway.tls,
        state=files.state(state_dir, environ),
        database=await asyncio.to_thread(storage.database, state_dir, environ),
        disk=storage.disk(state_dir),
        backup=last.read(state_dir),
        clock=await asyncio.to_thread(system.clock, now),
        socket=socket,
        port=port,
        mdns=await asyncio.to_thread(network.mdns, enabled=discovery.enabled, wanted=discovery.interfaces),
        service=await asyncio.to_thread(system.service),
        daemon=daemon,
        machines=() if daemon is not None else await asking.machines(settings),
    )
