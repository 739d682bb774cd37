"""The HTTP front: Ollama's routes, statuses and headers, and what guards them.

Built on `aiohttp.web` and not, like the gateway, on hypercorn: it cancels a handler the moment the client leaves, in
whole answers, in streams and while a call waits for its turn alike, and the cancelled handler closes its request to
llama.cpp, which frees the slot. It binds its own socket, so a taken port is an error before the model is loaded.
"""

import asyncio
import ipaddress
import logging
import os
import platform
import traceback
from collections.abc import Awaitable, Callable

import orjson
from aiohttp import web

from appliance.engine import answers, guard, listing
from appliance.engine.chats import Chats
from appliance.engine.clock import NANO, Clock
from appliance.engine.embeds import Embeds
from appliance.engine.generates import Generates
from appliance.engine.gguf import read_header
from appliance.engine.models import Model
from appliance.engine.refusal import Refused
from appliance.engine.requests import parse_show
from appliance.engine.shelf import Shelf
from appliance.engine.writing import json_response
from appliance.errors import EngineError

MAX_BODY = 32 * 2**20
"""Bytes of a request's body, as many as the gateway takes by default; a context of 4096 tokens needs some kilobytes."""
SHUTDOWN_PATIENCE = 0.3
"""Seconds that requests in flight may still take when the engine stops; then they are cut off."""

_logger = logging.getLogger(__name__)

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Front:
    """Answers Ollama's API for the models on the shelf. `version` is what `/api/version` says."""

    def __init__(self, shelf: Shelf, *, version: str, clock: Clock) -> None:
        self._shelf = shelf
        self._version = version
        self._clock = clock
        self._host_name = platform.node()
        self._guard_hosts = True
        self._chats = Chats(shelf, clock)
        self._generates = Generates(shelf, clock)
        self._embeds = Embeds(shelf, clock)
        self._site_runner = web.AppRunner(
            self._application(),
            handler_cancellation=True,
            access_log=None,
            logger=logging.Logger("aiohttp", logging.CRITICAL),  # it would log pieces of malformed bodies
            shutdown_timeout=SHUTDOWN_PATIENCE,
        )

    async def open(self, host: str, port: int) -> tuple[str, int]:
        """Starts to listen; returns the address and the port. Raises EngineError if they cannot be had."""
        await self._site_runner.setup()
        try:
            await web.TCPSite(self._site_runner, host, port).start()
        except OSError as error:
            # A failed bind has a long sentence of asyncio's; a name that does not resolve has no errno of the system.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise EngineError(
                f"The engine cannot listen on {host} port {port}: {reason}.",
                advice="Stop what uses the port, or choose another with --port.",
            ) from None
        address, actual = self._site_runner.addresses[0][:2]
        self._guard_hosts = ipaddress.ip_address(address).is_loopback
        return address, actual

    async def close(self) -> None:
        await self._site_runner.cleanup()

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[self._answer_errors, self._refuse_strangers], client_max_size=MAX_BODY)
        app.on_response_prepare.append(_drop_headers)
        app.router.add_get("/", self._root)
        app.router.add_get("/api/version", self._answer_version)
        app.router.add_get("/api/tags", self._tags)
        app.router.add_get("/api/ps", self._ps, allow_head=False)
        app.router.add_post("/api/show", self._show)
        app.router.add_post("/api/chat", self._chats.handle)
        app.router.add_post("/api/generate", self._generates.handle)
        app.router.add_post("/api/embed", self._embeds.handle)
        app.router.add_post("/api/embeddings", self._embeds.handle_older)
        return app

    @web.middleware
    async def _answer_errors(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refused as refused:
            return json_response(answers.error(refused.message), refused.status)
        except EngineError as error:
            return json_response(answers.error(error.message), 500)
        except web.HTTPRequestEntityTooLarge:
            return json_response(answers.error(f"the request's body is larger than {MAX_BODY} bytes"), 413)
        except web.HTTPMethodNotAllowed as error:
            return _plain("405 method not allowed", 405, {"Allow": ", ".join(sorted(error.allowed_methods))})
        except web.HTTPNotFound:
            return _plain("404 page not found", 404)
        except ConnectionError:
            raise  # the client left while it was being written to, which aiohttp takes calmly
        except web.RequestPayloadError:
            return json_response(answers.error("the request's body cannot be read"), 400)
        except Exception as error:
            # Where it happened and what kind it is, but not its text, which may hold a piece of a conversation.
            where = "".join(traceback.format_tb(error.__traceback__))
            _logger.error("A request failed: %s\n%s", type(error).__name__, where)
            return json_response(answers.error("internal error"), 500)

    @web.middleware
    async def _refuse_strangers(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if not guard.allows_origin(request.headers.get("Origin"), request.host):
            return web.Response(status=403)
        if self._guard_hosts and not guard.allows_host(request.host, own_name=self._host_name):
            return web.Response(status=403)
        return await handler(request)

    async def _root(self, _: web.Request) -> web.Response:
        return web.Response(text="Ollama is running")

    async def _answer_version(self, _: web.Request) -> web.Response:
        return json_response(orjson.dumps({"version": self._version}))

    async def _tags(self, _: web.Request) -> web.Response:
        served = await self._shelf.all()
        return json_response(listing.tags([(each.model, await asyncio.shield(each.digest)) for each in served]))

    async def _ps(self, _: web.Request) -> web.Response:
        loaded: list[tuple[Model, str, listing.Loaded]] = []
        for each in await self._shelf.all():
            digest = await asyncio.shield(each.digest)
            left = each.residence.seconds_left
            if left is not None:
                expires = self._clock.wall_ns() + int(left * NANO)
                loaded.append((each.model, digest, listing.Loaded(each.runner.memory, expires, each.context)))
        return json_response(listing.ps(loaded))

    async def _show(self, request: web.Request) -> web.Response:
        asked = parse_show(await request.read())
        served = await self._shelf.find(asked.model)
        if served is None:
            tag = asked.model if ":" in asked.model else f"{asked.model}:latest"
            raise Refused(404, f"model '{tag}' not found")
        header = served.model.header
        if asked.verbose:
            header = await asyncio.to_thread(read_header, served.model.path, arrays=True)
        return json_response(listing.show(served.model, header))


def _plain(text: str, status: int, headers: dict[str, str] | None = None) -> web.Response:
    """A bare sentence, with the bare content type that Ollama's router gives to its own errors."""
    return web.Response(body=text.encode(), status=status, headers={"Content-Type": "text/plain"} | (headers or {}))


async def _drop_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Takes back what aiohttp adds by itself: its version, and a content type for an empty body."""
    response.headers.pop("Server", None)
    if isinstance(response, web.Response) and not response.body:
        response.headers.pop("Content-Type", None)
