"""`GET /v1/models` and `GET /v1/models/{id}` in Anthropic's shape.

Must not know which models there are. Source: dialects.md §1.2; the types of PyPI `anthropic` 2.14.0.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson

from appliance.dialects.chat import DialectError
from appliance.dialects.openai.models import Model

DEFAULT_LIMIT, MAX_LIMIT = 20, 1000
"""Models a page."""


def list_body(models: Sequence[Model], *, limit: int = DEFAULT_LIMIT, after: str = "", before: str = "") -> bytes:
    """One page: the `limit` models behind that of the id `after`, or those before that of `before`.

    Raises DialectError for an id that is none.
    """
    start, end = _place(models, after, "after_id") + 1 if after else 0, len(models)
    if before:
        end = _place(models, before, "before_id")
        start = max(start, end - limit)
    shown = models[start : min(end, start + limit)]
    more = start > 0 if before else start + len(shown) < len(models)
    ids = [model.id for model in shown]
    return orjson.dumps(
        {
            "data": [_object(model) for model in shown],
            "has_more": more,
            "first_id": ids[0] if ids else None,
            "last_id": ids[-1] if ids else None,
        }
    )


def model_body(model: Model) -> bytes:
    return orjson.dumps(_object(model))


def _place(models: Sequence[Model], wanted: str, param: str) -> int:
    for at, model in enumerate(models):
        if model.id == wanted:
            return at
    raise DialectError(f"`{param}` is not the id of a model in this list.", param)


def _object(model: Model) -> dict[str, str]:
    created = datetime.fromtimestamp(model.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": created,
        "lifecycle": "active",
    }
