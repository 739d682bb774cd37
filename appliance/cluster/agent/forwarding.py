"""One request of the gateway, on its way to the local Ollama: what is let through, and how bodies pass unread.

Knows nothing of TLS or of who asks; `agent.front` lets in nobody but the gateway.
"""

import logging

import aiohttp
import orjson
from aiohttp import hdrs, web
from multidict import CIMultiDict, CIMultiDictProxy

ALLOWED = frozenset(
    {
        ("GET", "/api/version"),
        ("GET", "/api/tags"),
        ("GET", "/api/ps"),
        ("POST", "/api/show"),
        ("POST", "/api/chat"),
        ("POST", "/api/generate"),
        ("POST", "/api/embed"),
    }
)
"""What changes a machine's models is not here: an Ollama that one gateway may delete from is no longer its owner's."""
FROM_CONSOLE = ("POST", "/api/pull")
CONSOLE_HEADER = "x-synapse-console"
NODE = ("GET", "/synapse/v1/node")

CONNECT_SECONDS = 5.0

_NOT_FORWARDED = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "expect",
        CONSOLE_HEADER,
    }
)
"""Of this connection alone (RFC 9110 7.6.1), or said anew for the next."""

_PIECE = 64 * 1024

_log = logging.getLogger(__name__)


class Forwarding:
    """`ollama` is the base URL of the local Ollama, `about` the JSON that answers NODE."""

    def __init__(self, session: aiohttp.ClientSession, ollama: str, about: bytes) -> None:
        self._session = session
        self._ollama = ollama.rstrip("/")
        self._about = about

    async def answer(self, request: web.Request) -> web.StreamResponse:
        # As it was sent, with no escape or dot undone: what is allowed here is what Ollama gets.
        asked = (request.method, request.raw_path)
        if asked == NODE:
            return web.Response(body=self._about, content_type="application/json")
        if asked == FROM_CONSOLE and request.headers.get(CONSOLE_HEADER) != "1":
            return error(403, "models are pulled from the gateway's console only")
        if asked != FROM_CONSOLE and asked not in ALLOWED:
            return error(403, "this machine forwards no such request")
        try:
            upstream = await self._ask(request)
        except (aiohttp.ClientError, TimeoutError) as failed:
            _log.warning("Ollama does not answer at %s: %s", self._ollama, type(failed).__name__)
            return error(502, "Ollama does not answer on this machine")
        try:
            return await _pass_on(upstream, request)
        finally:
            # Not given back but closed: a caller that left must not leave a model talking to nobody.
            upstream.close()

    async def _ask(self, request: web.Request) -> aiohttp.ClientResponse:
        headers = _forwarded(request.headers)
        body = None
        if request.method == "POST":
            body = request.content.iter_chunked(_PIECE)
        else:
            headers.popall(hdrs.CONTENT_LENGTH, None)
        return await self._session.request(
            request.method, self._ollama + request.raw_path, data=body, headers=headers, allow_redirects=False
        )


async def _pass_on(upstream: aiohttp.ClientResponse, request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(status=upstream.status, reason=upstream.reason, headers=_forwarded(upstream.headers))
    try:
        await response.prepare(request)
        async for piece in upstream.content.iter_any():
            await response.write(piece)
        await response.write_eof()
    except aiohttp.ClientConnectionResetError:
        raise  # the gateway left
    except aiohttp.ClientError:
        # Ollama died within its answer: the connection breaks, so that nobody takes this for its end.
        _log.warning("Ollama broke off an answer")
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionResetError from None
    return response


def open_session() -> aiohttp.ClientSession:
    """To Ollama, directly. Each call has a connection of its own: on loopback that is cheaper than a lost race."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        trust_env=False,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=(hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.CONTENT_TYPE, hdrs.USER_AGENT),
    )


def _forwarded(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    named = {
        name.strip().lower() for value in headers.getall(hdrs.CONNECTION, ()) for name in value.split(",")
    } | _NOT_FORWARDED
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in named)


def error(status: int, text: str) -> web.Response:
    return web.Response(status=status, body=orjson.dumps({"error": text}), content_type="application/json")
