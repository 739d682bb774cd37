"""Asks a machine that speaks like OpenAI how it is: vLLM, Ray Serve LLM, llama.cpp's server. Never generates.

Its list of models is all that such a server has to have. What else is asked depends on whose list it is, since each
request for what it does not have stands in its log as an error.
Source: vLLM (`ModelCard`, `/version`); llama.cpp (`tools/server/README.md`, `/props`); Ray Serve LLM (`ModelCard`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import aiohttp

from appliance.cluster.asking import (
    UNKNOWN_CAPABILITIES,
    Refused,
    as_object,
    ask,
    count,
    is_name,
    no_answer,
    stated_version,
)
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine, Model, canonical, leaves_the_building

MAX_SLOTS = 1_024
"""No server works on more calls at once; a claim of more is not believed."""

_UNLIKE = "it does not answer like an OpenAI-compatible server"

_REFUSALS = {
    401: "it refuses the key",
    403: "it refuses the key",
    503: "it is still loading its model, or has too much to do",
}

_IS_OLLAMA = "it is Ollama, which has to be used by its own API: name its address without /v1"

_VERSION, _PROPS, _OLLAMA = "/version", "/props", "/api/version"

_VLLM, _LLAMA = frozenset({"vllm"}), frozenset({"llamacpp"})
"""Who is said to own the listed models."""

_ASKED = {_VLLM: (_VERSION,), _LLAMA: (_PROPS,)}
"""Of any other server all of them are asked for."""


class OpenAIProber:
    """Reads `/models` below a machine's URL, which ends with `/v1`, and what its root says of the server."""

    def __init__(self, links: Links) -> None:
        self._links = links

    async def probe(self, machine: Machine) -> Machine:
        """The machine as it is now. Never raises for what a machine does: `why` says what is wrong with it."""
        base = machine.url.rstrip("/")
        root = base.removesuffix("/v1")
        try:
            entries = _entries(await self._ask(machine, f"{base}/models"))
            paths = _ASKED.get(_owners(entries), (_VERSION, _PROPS, _OLLAMA))
            said = {path: await self._if_there(machine, root + path) for path in paths}
        except Refused as refused:
            return machine.failed(_REFUSALS.get(refused.status, _UNLIKE))
        except (aiohttp.ClientError, OSError, ValueError) as error:  # OSError: TimeoutError too
            return machine.failed(no_answer(error, unlike=_UNLIKE))
        if "version" in said.get(_OLLAMA, {}):
            # In this dialect it does not say which of its tags leave for its cloud, nor take a context's length.
            return machine.failed(_IS_OLLAMA)
        return described(machine, entries, said.get(_VERSION, {}), said.get(_PROPS, {}))

    async def _if_there(self, machine: Machine, url: str) -> Mapping[str, Any]:
        """What the server says there, nothing where it has no such place."""
        try:
            return await self._ask(machine, url)
        except ValueError:
            return {}

    async def _ask(self, machine: Machine, url: str) -> Mapping[str, Any]:
        # No connection is left behind: these servers close it after 5 s, which may be just when a call takes it.
        link = self._links.of(machine)
        return await ask(link.session, "GET", url, headers={**link.headers, "Connection": "close"})


def described(
    machine: Machine, entries: Iterable[Mapping[str, Any]], stated: Mapping[str, Any], props: Mapping[str, Any]
) -> Machine:
    """The machine by its list's entries, its `/version` and its `/props`, each {} where it has none; entries that make
    no sense are left out."""
    listed = {name: entry for entry in entries if isinstance(name := entry.get("id"), str) and is_name(name)}
    own = {name: _context(entry, props) for name, entry in listed.items()}
    # An adapter is listed without a length, and has that of the model under it.
    lengths = {name: own[name] or own.get(str(entry.get("parent")), 0) for name, entry in listed.items()}
    capabilities = _capabilities(props)
    models = tuple(
        Model(
            name=name,
            digest=f"openai:{name}",
            parameters=count(as_object(entry.get("meta")).get("n_params")),
            capabilities=capabilities,
            remote=leaves_the_building(name, None),
            context_length=lengths[name] or None,
        )
        for name, entry in listed.items()
    )
    return replace(
        machine,
        engine=_engine(_owners(listed.values()), stated, props),
        healthy=True,
        why="" if models else "it has no models",
        models=models,
        loaded={canonical(name): length for name, length in lengths.items()},
        slots=_slots(machine, props),
    )


def _slots(machine: Machine, props: Mapping[str, Any]) -> int:
    return machine.slots if machine.slots_set else min(count(props.get("total_slots")), MAX_SLOTS) or machine.slots


def _entries(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Raises ValueError for an answer that is no list of models."""
    data: object = answer.get("data")
    if not isinstance(data, list):
        raise ValueError("data")
    return [as_object(entry) for entry in cast(list[object], data)]


def _owners(entries: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(owner if isinstance(owner := entry.get("owned_by"), str) else "" for entry in entries)


def _context(entry: Mapping[str, Any], props: Mapping[str, Any]) -> int:
    """Tokens of context that each call has, 0 where nobody says: of vLLM, of llama.cpp, of Ray Serve LLM."""
    said: tuple[object, ...] = (
        entry.get("max_model_len"),
        as_object(props.get("default_generation_settings")).get("n_ctx"),
        as_object(entry.get("meta")).get("n_ctx"),
        as_object(entry.get("metadata")).get("max_request_context_length"),
    )
    return next((length for one in said if (length := count(one))), 0)


def _capabilities(props: Mapping[str, Any]) -> frozenset[str]:
    sees: object = as_object(props.get("modalities")).get("vision")
    return UNKNOWN_CAPABILITIES - {"vision"} if sees is False else UNKNOWN_CAPABILITIES


def _engine(owners: frozenset[str], stated: Mapping[str, Any], props: Mapping[str, Any]) -> str:
    build = props.get("build_info")
    if isinstance(build, str) and (found := re.match(r"b\d{1,10}\b", build)):
        return f"llama.cpp/{found[0]}"
    if owners == _LLAMA:
        return "llama.cpp/unknown"
    return f"{'vllm' if owners == _VLLM else 'openai-compatible'}/{stated_version(stated.get('version'))}"
