"""How a machine is asked how it is: bounded questions over HTTP, and what each dialect's prober reads alike.

Knows no dialect: `cluster.health` and `cluster.openai_health` do.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, cast

import aiohttp
import orjson

PROBE_TIMEOUT_SECONDS = 4.0
"""Under the interval of 5 s, so that two probes of one machine never overlap."""

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""A machine with thousands of models stays far below; a hostile one must not fill the memory."""

MAX_NAME_CHARACTERS = 256

UNKNOWN_CAPABILITIES = frozenset({"completion", "tools", "vision"})
"""Of a model whose machine lists none: such a machine refuses by itself what its model cannot do."""


class Refused(ValueError):
    """The machine answered with another status than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


async def ask(
    session: aiohttp.ClientSession,
    method: str,
    url: str,
    *,
    body: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    """The JSON object that the machine answers with.

    Raises `aiohttp.ClientError` or `OSError` (`TimeoutError` too) where no answer came, `Refused` and `ValueError`
    where it is none that can be read.
    """
    timeout = aiohttp.ClientTimeout(total=PROBE_TIMEOUT_SECONDS)
    async with session.request(
        method, url, json=body, headers=headers, timeout=timeout, allow_redirects=False
    ) as response:
        if response.status != 200:
            raise Refused(response.status)
        answer = orjson.loads(await _bounded(response.content))
    if not isinstance(answer, dict):
        raise ValueError(url)
    return cast(dict[str, Any], answer)


async def _bounded(stream: aiohttp.StreamReader) -> bytes:
    """The whole body. Raises `ValueError` where it is larger than any honest one."""
    body = bytearray()
    while chunk := await stream.readany():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise ValueError(len(body))
    return bytes(body)


def no_answer(error: Exception, *, unlike: str) -> str:
    """Why the machine is not used, by what `ask` raised; `unlike` is for an answer that could not be read."""
    match error:
        case TimeoutError():
            return "it did not answer in time"
        case aiohttp.ClientConnectorCertificateError():
            return "another certificate is shown there than the one that is trusted"
        case aiohttp.ClientConnectorSSLError():
            return "no secure connection can be made"
        case aiohttp.ServerDisconnectedError():
            return "it closes the connection without an answer"
        case aiohttp.ClientError() | OSError():
            return f"no connection ({_reason(error)})"
        case _:
            return unlike


def _reason(error: BaseException) -> str:
    """The system's own words for the fault, such as `connection refused`; never an address or a URL."""
    number = getattr(getattr(error, "os_error", error), "errno", None)
    return os.strerror(number).lower() if isinstance(number, int) and number > 0 else type(error).__name__


def is_name(name: str) -> bool:
    """Names go into certificates, which cannot hold every character (proofs.md, "Profile")."""
    return 0 < len(name) <= MAX_NAME_CHARACTERS and name.isprintable()


def stated_version(said: object) -> str:
    """A version as a machine states it, `unknown` for what is none; it goes into certificates too."""
    return said if isinstance(said, str) and re.fullmatch(r"[0-9A-Za-z.+_-]{1,60}", said) else "unknown"


def as_object(value: object) -> Mapping[str, Any]:
    """A JSON object; what is none has no members."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def count(value: object) -> int:
    """A number of tokens and the like; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
