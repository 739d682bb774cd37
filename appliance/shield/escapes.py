"""A restored value in the form of the text around it: inside JSON strings, however deep, or percent-encoded.

Pure; must not know tokens. Sources: RFC 8259 (JSON), RFC 3986 (percent-encoding).
"""

import json
from urllib.parse import quote, unquote


def inside_json(value: str, depth: int) -> str:
    """The value as the inside of a JSON string; at depth 2 of one that stands in another, and so on."""
    for _ in range(depth):
        value = json.dumps(value, ensure_ascii=False)[1:-1]
    return value


def percent_encoded(value: str) -> str:
    """`jane%40example.org`. A value that was written so is not encoded again."""
    plain = unquote(value) if "%40" in value else value
    return quote(plain.encode("utf-8", "surrogatepass"), safe="")
