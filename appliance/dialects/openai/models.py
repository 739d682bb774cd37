"""`GET /v1/models` and `GET /v1/models/{id}`: the addresses that can be picked, in OpenAI's shape.

Must not know where agents and models come from. Source: model-addressing.md ("Discover addresses").
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import orjson

ALIASES = ("pulse-auto", "pulse-sensitive", "pulse-agent")


@dataclass(frozen=True, slots=True)
class Model:
    """One entry. `created` is in seconds since the epoch."""

    id: str
    created: int
    owned_by: Literal["pulse-gateway", "pulse-agents"]


def entries(*, created: int, full_model: str | None, agents: Iterable[str] = ()) -> tuple[Model, ...]:
    """The aliases, the configured full model if there is one, then the agents' slugs, in the given order."""
    names = (*ALIASES, *([full_model] if full_model else []))
    ours = tuple(Model(name, created, "pulse-gateway") for name in names)
    return ours + tuple(Model(f"agent:{slug}", created, "pulse-agents") for slug in agents)


def list_body(models: Iterable[Model]) -> bytes:
    return orjson.dumps({"object": "list", "data": [_object(model) for model in models]})


def model_body(model: Model) -> bytes:
    return orjson.dumps(_object(model))


def _object(model: Model) -> dict[str, str | int]:
    return {"id": model.id, "object": "model", "created": model.created, "owned_by": model.owned_by}
