"""A double of an OpenAI-compatible server of one's own: vLLM, llama.cpp's server, or Ray Serve LLM.

The stream is that of `tests.upstreams.openai`; here is what each of them says of itself and in which words it refuses.
The shapes are those of vLLM (`ModelCard`, `ErrorResponse`), of llama.cpp (`tools/server/README.md`) and of Ray Serve
LLM (`ModelCard`), and error texts as quoted in public issues.
"""

import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from tests.upstreams import openai as wire
from tests.upstreams.openai import CREATED, OpenAIDouble, Received, Script, refuses
from tests.upstreams.serving import listening

Engine = Literal["vllm", "llama.cpp", "ray"]


def error(message: str, kind: str, code: int, **more: Any) -> dict[str, Any]:
    """The error object that all three send; its `code` is a number."""
    return {"error": {"message": message, "type": kind, "code": code, **more}}


def busy() -> Script:
    """llama.cpp's server while it loads its model."""
    return refuses(503, error("Loading model", "unavailable_error", 503))


def model_missing(model: str) -> Script:
    """vLLM's words."""
    return refuses(404, error(f"The model `{model}` does not exist.", "NotFoundError", 404, param="model"))


def _vllm(message: str) -> Script:
    return refuses(400, error(message, "BadRequestError", 400, param=None))


def overflows(limit: int, used: int) -> dict[str, Script]:
    """A prompt that is too long, by whose words it is."""
    llama = f"request ({used} tokens) exceeds the available context size ({limit} tokens), try increasing it"
    more = {"n_prompt_tokens": used, "n_ctx": limit}
    return {
        "vLLM": _vllm(
            f"This model's maximum context length is {limit} tokens. However, your request has {used} input tokens. "
            "Please reduce the length of the input messages."
        ),
        "newer vLLM": _vllm(
            f"You passed {used} input tokens and requested 0 output tokens. However, the model's context length is "
            f"only {limit} tokens, resulting in a maximum input length of {limit} tokens. Please reduce the length of "
            "the input prompt."
        ),
        "vLLM, with pictures": _vllm(
            f"The decoder prompt (length {used}) is longer than the maximum model length of {limit}. Make sure that "
            "`max_model_len` is no smaller than the number of text tokens plus multimodal tokens."
        ),
        "llama.cpp": refuses(400, error(llama, "exceed_context_size_error", 400, **more)),
    }


def llama_answers(*texts: str, prompt: int = 7) -> Script:
    """llama.cpp's healthy answer: null as its first content, and timings beside the usage."""
    begin = wire.chunk({"role": "assistant", "content": None})
    timings = {"prompt_n": prompt, "predicted_n": len(texts), "predicted_per_second": 90.5}
    usage = wire.data(
        {"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": wire.counts(prompt, len(texts)),
         "timings": timings}
    )  # fmt: skip
    return wire.says(begin, *[wire.text(one) for one in texts], wire.finish(), usage, wire.DONE)


@dataclass
class CompatibleDouble(OpenAIDouble):
    """As the double of OpenAI, but for what it says of itself. `context` and `slots` are None where it does not say."""

    engine: Engine = "vllm"
    models: list[str] = field(default_factory=lambda: ["org/model"])
    context: int | None = 8192
    slots: int | None = 2
    sees: bool | None = None
    build: str = "b6123-a1b2c3d"

    async def list(self, request: web.Request) -> web.StreamResponse:
        self._ask(request)
        if not self._knows(request):
            return await self.wrong_key()(request)
        if not self.lists_models:
            return await busy()(request)
        return web.json_response({"object": "list", "data": [self._card(name) for name in self.models]})

    async def version(self, request: web.Request) -> web.StreamResponse:
        self._ask(request)
        return web.json_response({"version": "0.11.0"})

    async def props(self, request: web.Request) -> web.StreamResponse:
        self._ask(request)
        if not self._knows(request):
            return await self.wrong_key()(request)
        said: dict[str, Any] = {"default_generation_settings": {"n_ctx": self.context}, "build_info": self.build}
        if self.slots is not None:
            said["total_slots"] = self.slots
        if self.sees is not None:
            said["modalities"] = {"vision": self.sees, "audio": False}
        return web.json_response(said)

    def wrong_key(self) -> Script:
        if self.engine == "vllm":
            return refuses(401, {"error": "Unauthorized"})
        return refuses(401, error("Invalid API Key", "authentication_error", 401))

    def _refusal(self, request: web.Request, body: bytes) -> Script | None:
        return super()._refusal(request, body) if self._knows(request) else self.wrong_key()

    def _ask(self, request: web.Request) -> None:
        self.asked.append(Received(request.method, request.raw_path, tuple(request.raw_headers), b""))

    def _card(self, name: str) -> dict[str, Any]:
        card: dict[str, Any] = {"id": name, "object": "model", "created": CREATED}
        match self.engine:
            case "vllm":
                return card | {"owned_by": "vllm", "root": name, "parent": None, "max_model_len": self.context,
                               "permission": [{"id": "modelperm-1", "allow_sampling": True}]}  # fmt: skip
            case "llama.cpp":
                meta = {"n_vocab": 128_256, "n_ctx": self.context, "n_ctx_train": 131_072, "n_params": 8_030_261_312}
                return card | {"owned_by": "llamacpp", "meta": meta}
            case "ray":
                metadata = {"model_id": name, "input_modality": "text", "max_request_context_length": self.context}
                return card | {"owned_by": "organization-owner", "permission": [], "metadata": metadata}


@asynccontextmanager
async def compatible_double(engine: Engine = "vllm", port: int = 0, *, tls: ssl.SSLContext | None = None, **more: Any):
    """A running double; it listens on loopback until the block is left. `url` ends with `/v1`."""
    double = CompatibleDouble(engine=engine, **more)
    own = {
        "vllm": [web.get("/version", double.version)],
        "llama.cpp": [web.get("/props", double.props)],
        "ray": [],
    }
    routes = [
        web.post("/v1/chat/completions", double.chat),
        web.get("/v1/models", double.list),
        *own[engine],
        web.route("*", "/{path:.*}", double.nothing),
    ]
    async with listening(double, routes, port, tls):
        double.url += "/v1"
        yield double
