"""JSON that another program or a model wrote, read without complaint: an object, or something that stands in for it.

Must not know who wrote it or where it goes; a caller's own body is read by `jsonbody`, which explains what is wrong.
"""

from typing import cast

import orjson

from appliance.dialects.jsonbody import MAX_DEPTH, nested_deeper


def json_object(data: bytes) -> dict[str, object] | None:
    """The object that `data` is, None if it is anything else."""
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def played_back(arguments: str) -> object:
    """The arguments of an earlier tool call, for a server that takes an object only: a value that orjson can write.

    A broken history must not end a chat: what is no object becomes one that holds the text (`_raw`), nothing an
    empty one.
    """
    if not arguments.strip():
        return {}
    encoded = arguments.encode()
    value = json_object(encoded)
    if value is None or nested_deeper(value, MAX_DEPTH):
        return {"_raw": arguments}
    # As it was written: a model that reads its own words again need not compute them again.
    return orjson.Fragment(encoded)
