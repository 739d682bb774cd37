"""Asks each machine how it is, beside the request path: version, models, what is loaded. Never loads a model."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, cast

import aiohttp

from appliance.cluster.machine import Machine, Model, canonical, leaves_the_building

PROBE_TIMEOUT_SECONDS = 4.0
"""Under the interval of 5 s, so that two probes of one machine never overlap."""

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""A machine with thousands of models stays far below; a hostile one must not fill the memory."""

MAX_NAME_CHARACTERS = 256


class Prober(Protocol):
    async def probe(self, machine: Machine) -> Machine: ...


class OllamaProber:
    """Reads `/api/version`, `/api/tags` and `/api/ps` of one machine over the lane's own connections."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def probe(self, machine: Machine) -> Machine:
        """The machine as it is now. Never raises for what a machine does: `why` says what is wrong with it."""
        try:
            version = await self._get(machine, "/api/version")
            tags = await self._get(machine, "/api/tags")
            loaded = await self._get(machine, "/api/ps")
        except TimeoutError:
            return machine.failed("it did not answer in time")
        except (aiohttp.ClientError, OSError) as error:
            return machine.failed(f"no connection ({_reason(error)})")
        except ValueError:
            return machine.failed("it does not answer like Ollama")
        return healthy(machine, version, tags, loaded)

    async def _get(self, machine: Machine, path: str) -> Mapping[str, Any]:
        timeout = aiohttp.ClientTimeout(total=PROBE_TIMEOUT_SECONDS)
        async with self._session.get(machine.url + path, timeout=timeout, allow_redirects=False) as response:
            if response.status != 200:
                raise ValueError(response.status)
            if (response.content_length or 0) > MAX_ANSWER_BYTES:
                raise ValueError(response.content_length)
            body = await response.json(content_type=None)
        if not isinstance(body, dict):
            raise ValueError(path)
        return cast(dict[str, Any], body)


def healthy(machine: Machine, version: Mapping[str, Any], tags: Mapping[str, Any], ps: Mapping[str, Any]) -> Machine:
    """The machine as these three answers describe it; entries that make no sense are left out."""
    models = tuple(_models(tags))
    return replace(
        machine,
        engine=_engine(version),
        healthy=True,
        why="" if models else "it has no models",
        models=models,
        loaded=frozenset(canonical(name) for entry in _entries(ps) if isinstance(name := entry.get("name"), str)),
    )


def _engine(version: Mapping[str, Any]) -> str:
    said = version.get("version")
    number = said if isinstance(said, str) and re.fullmatch(r"[0-9A-Za-z.+_-]{1,60}", said) else "unknown"
    return f"synapse-engine/{number}" if "+xllamacpp" in number else f"ollama/{number}"


def _models(tags: Mapping[str, Any]) -> list[Model]:
    models: list[Model] = []
    for entry in _entries(tags):
        name, digest = entry.get("name"), entry.get("digest")
        if not isinstance(name, str) or not isinstance(digest, str) or not _is_name(name):
            continue
        details = _object(entry.get("details"))
        capabilities: object = entry.get("capabilities")
        models.append(
            Model(
                name=name,
                digest=digest,
                parameters=_parameters(details.get("parameter_size")),
                # Ollama before 0.14 does not list them; such a machine's models are taken for chat models.
                capabilities=frozenset(str(one) for one in cast(list[object], capabilities))
                if isinstance(capabilities, list)
                else frozenset({"completion"}),
                remote=leaves_the_building(name, entry.get("remote_host")),
            )
        )
    return models


def _is_name(name: str) -> bool:
    """Names go into certificates, which cannot hold every character (proofs.md, "Profile")."""
    return 0 < len(name) <= MAX_NAME_CHARACTERS and name.isprintable()


def _entries(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries: object = answer.get("models")
    return [_object(entry) for entry in cast(list[object], entries)] if isinstance(entries, list) else []


def _object(value: object) -> Mapping[str, Any]:
    """A JSON object; what is none has no members."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _parameters(size: object) -> int:
    """`134.52M` → 134,520,000."""
    match = re.fullmatch(r"([0-9.]+)([KMBT]?)", size) if isinstance(size, str) else None
    if match is None:
        return 0
    try:
        return round(float(match[1]) * {"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[match[2]])
    except ValueError:
        return 0


def _reason(error: BaseException) -> str:
    """The system's own words for the fault, such as `connection refused`; never an address or a URL."""
    number = getattr(getattr(error, "os_error", error), "errno", None)
    return os.strerror(number).lower() if isinstance(number, int) and number > 0 else type(error).__name__
