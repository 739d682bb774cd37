"""Asks each machine how it is, beside the request path: version, models, what is loaded. Never loads a model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import aiohttp

from appliance.cluster.asking import (
    UNKNOWN_CAPABILITIES,
    as_object,
    ask,
    count,
    is_name,
    no_answer,
    stated_version,
)
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine, Model, canonical, leaves_the_building

MAX_SHOWN = 1_000
"""Models that are remembered; an office's machines have some dozens."""


class Prober(Protocol):
    async def probe(self, machine: Machine) -> Machine: ...


class OllamaProber:
    """Reads `/api/version`, `/api/tags` and `/api/ps` of one machine over the lane's own connections.

    What `/api/show` says of a model is asked once per machine and digest: `/api/tags` calls an embedding model a chat
    model, and what one machine says of a digest is not to be believed of another's.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._shown: dict[tuple[str, str], Shown] = {}

    async def probe(self, machine: Machine) -> Machine:
        """The machine as it is now. Never raises for what a machine does: `why` says what is wrong with it."""
        try:
            version = await self._ask(machine, "GET", "/api/version")
            tags = await self._ask(machine, "GET", "/api/tags")
            loaded = await self._ask(machine, "GET", "/api/ps")
        except (aiohttp.ClientError, OSError, ValueError) as error:  # OSError: TimeoutError too
            return machine.failed(no_answer(error, unlike="it does not answer like Ollama"))
        found = healthy(machine, version, tags, loaded)
        return replace(found, models=tuple([await self._described(machine, model) for model in found.models]))

    async def _described(self, machine: Machine, model: Model) -> Model:
        """The model with what `/api/show` says of it, or as it was listed where the machine does not say."""
        key = (machine.id, model.digest)
        shown = self._shown.get(key)
        if shown is None and not model.remote:
            try:
                shown = read_shown(await self._ask(machine, "POST", "/api/show", {"model": model.name}))
            except (aiohttp.ClientError, OSError, ValueError):  # OSError: TimeoutError too
                return model
            if len(self._shown) >= MAX_SHOWN:
                self._shown.clear()
            self._shown[key] = shown
        if shown is None:
            return model
        capabilities = shown.capabilities or model.capabilities
        return replace(model, capabilities=capabilities, context_length=shown.context_length)

    async def _ask(
        self, machine: Machine, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> Mapping[str, Any]:
        link = self._links.of(machine)
        return await ask(link.session, method, machine.url + path, body=body, headers=link.headers)


def read_shown(answer: Mapping[str, Any]) -> "Shown":
    """What matters of an answer to `/api/show`."""
    info = as_object(answer.get("model_info"))
    lengths = [value for name, value in info.items() if name.endswith(".context_length")]
    length = count(lengths[0]) if lengths else 0
    return Shown(
        capabilities=_capabilities(answer, unknown=frozenset()),
        context_length=length or None,
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """What a machine says of one model, by the digest of which it is kept."""

    capabilities: frozenset[str]
    context_length: int | None


def healthy(machine: Machine, version: Mapping[str, Any], tags: Mapping[str, Any], ps: Mapping[str, Any]) -> Machine:
    """The machine as these three answers describe it; entries that make no sense are left out."""
    models = tuple(_models(tags))
    return replace(
        machine,
        engine=_engine(version),
        healthy=True,
        why="" if models else "it has no models",
        models=models,
        loaded={
            canonical(name): count(entry.get("context_length"))
            for entry in _entries(ps)
            if isinstance(name := entry.get("name"), str)
        },
    )


def _engine(version: Mapping[str, Any]) -> str:
    number = stated_version(version.get("version"))
    return f"synapse-engine/{number}" if "+xllamacpp" in number else f"ollama/{number}"


def _models(tags: Mapping[str, Any]) -> list[Model]:
    models: list[Model] = []
    for entry in _entries(tags):
        name, digest = entry.get("name"), entry.get("digest")
        if not isinstance(name, str) or not isinstance(digest, str) or not is_name(name):
            continue
        details = as_object(entry.get("details"))
        models.append(
            Model(
                name=name,
                digest=digest,
                parameters=_parameters(details.get("parameter_size")),
                # An old Ollama does not list them.
                capabilities=_capabilities(entry, unknown=UNKNOWN_CAPABILITIES),
                remote=leaves_the_building(name, entry.get("remote_host")),
            )
        )
    return models


def _capabilities(answer: Mapping[str, Any], *, unknown: frozenset[str]) -> frozenset[str]:
    listed: object = answer.get("capabilities")
    return frozenset(str(one) for one in cast(list[object], listed)) if isinstance(listed, list) else unknown


def _entries(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries: object = answer.get("models")
    return [as_object(entry) for entry in cast(list[object], entries)] if isinstance(entries, list) else []


def _parameters(size: object) -> int:
    """`134.52M` → 134,520,000."""
    match = re.fullmatch(r"([0-9.]+)([KMBT]?)", size) if isinstance(size, str) else None
    if match is None:
        return 0
    try:
        return round(float(match[1]) * {"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[match[2]])
    except (ValueError, OverflowError):
        return 0
