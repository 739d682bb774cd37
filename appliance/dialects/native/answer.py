"""Writes the answer of `POST /v1/ai/complete`, which comes whole.

Source: completions.md ("Responses").
"""

from collections.abc import Iterable, Mapping, Sequence

import orjson

from appliance.dialects.chat import Event, Finish, TextDelta

Json = Mapping[str, object]


def whole(events: Iterable[Event], *, extracted: Sequence[Json], routing: Json, latency_ms: int) -> bytes:
    """One answer of all its events, the `Finish` among them.

    `extracted` are the facts that were found in the user's message. `routing` and `latency_ms`, the milliseconds since
    the call came, are for diagnosis: callers are told not to depend on them.
    """
    told = list(events)
    (finish,) = (event for event in told if isinstance(event, Finish))
    prompt, completion = finish.usage.prompt_tokens, finish.usage.completion_tokens
    return orjson.dumps(
        {
            "content": "".join(event.text for event in told if isinstance(event, TextDelta)),
            "usage": {"promptTokens": prompt, "completionTokens": completion, "totalTokens": prompt + completion},
            "extracted": [dict(fact) for fact in extracted],
            "routing": dict(routing),
            "latencyMs": latency_ms,
        }
    )
