"""The OpenAI dialect's error object. Which error gets which status and type is the gateway's to say."""

import orjson


def body(
    message: str,
    type: str,  # noqa: A002  the wire's own word
    code: str | None,
    param: str | None,
) -> bytes:
    """The error as one compact JSON object; clients index all four keys, so that all are always there."""
    return orjson.dumps({"error": {"message": message, "type": type, "param": param, "code": code}})
