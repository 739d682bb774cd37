"""The bodies of `/api/embed` and of the older `/api/embeddings`: JSON bytes in, checked values out. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from appliance.engine.durations import parse_keep_alive
from appliance.engine.fields import read_object
from appliance.engine.refusal import Refused


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """`dimensions` is how many numbers of an embedding are wanted, 0 for all of them."""

    model: str
    inputs: tuple[str, ...]
    truncate: bool
    dimensions: int
    keep_alive: float | None
    """Seconds, or `None` where the request does not say."""
    options: Mapping[str, object]


def parse_embed(body: bytes) -> EmbedRequest:
    """Reads the body of `/api/embed`. Raises Refused (400)."""
    fields = read_object(body, "EmbedRequest")
    return EmbedRequest(
        model=fields.model(),
        inputs=_inputs(fields.value("input")),
        truncate=fields.boolean("truncate", default=True),
        dimensions=fields.integer("dimensions"),
        keep_alive=parse_keep_alive(fields.value("keep_alive")),
        options=fields.mapping("options"),
    )


def parse_embeddings(body: bytes) -> EmbedRequest:
    """Reads the body of `/api/embeddings`, which embeds one prompt and cuts nothing. Raises Refused (400)."""
    fields = read_object(body, "EmbeddingRequest")
    prompt = fields.text("prompt")
    return EmbedRequest(
        model=fields.model(),
        inputs=(prompt,) if prompt else (),
        truncate=False,
        dimensions=0,
        keep_alive=parse_keep_alive(fields.value("keep_alive")),
        options=fields.mapping("options"),
    )


def _inputs(value: object) -> tuple[str, ...]:
    """An empty text alone is no input, in a list it is one: so does Ollama."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise Refused(400, "invalid input type")
    items = cast("list[object]", value)
    if not all(isinstance(item, str) for item in items):
        raise Refused(400, "invalid input type")
    return tuple(cast("list[str]", items))
