"""Whether a provider can be used as it is set up, and if not, what is wrong: key, URL, model or network.

For `synapse provider test`. It asks for the list of models, which costs nothing, and where that leaves anything open,
for an answer of one token. No personal data is in what it sends, and no key in what it says.
"""

import asyncio
from dataclasses import dataclass
from typing import Literal, cast

import aiohttp
import orjson

from appliance.dialects.openai.refusals import refusal
from appliance.dialects.upstream import ErrorKind, ProviderError
from appliance.lanes.endpoint import Endpoint, Kind, redirect_host
from appliance.lanes.external_connections import explain

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
"""Of each of the two questions; a person waits for it."""

MAX_LIST_BYTES = 8 * 1024 * 1024
"""The longest lists have some hundred models of a few kilobytes each."""

ANTHROPIC_VERSION = "2023-06-01"

Finding = Literal["ok", "key", "model", "url", "network", "tls", "busy", "failed"]

_ADVICE: dict[Finding, str] = {
    "ok": "",
    "key": "Check the key and its account on the provider's own site, and set it again with `synapse provider add`.",
    "model": "Choose one that the provider has: `synapse provider add NAME --kind … --full MODEL`.",
    "url": "Correct the base URL: it ends where `/chat/completions` begins, most often with `/v1`, and for Anthropic"
    " where `/v1/messages` does.",
    "busy": "The key was accepted. Try again in a moment, or raise the account's limits on the provider's own site.",
    "failed": "Try again in a moment; the provider's status page may say more.",
}

_FINDINGS: dict[ErrorKind, Finding] = {
    "key": "key", "model": "model", "context": "ok", "request": "ok", "size": "ok", "busy": "busy", "failed": "failed",
}  # fmt: skip
"""Of the answer of one token. Who finds fault with the question itself has accepted the key and has the model."""


@dataclass(frozen=True, slots=True)
class Checked:
    """`message` is what was found, one sentence, and `advice` what to do, "" where there is nothing to do."""

    finding: Finding
    message: str
    advice: str

    @property
    def ok(self) -> bool:
        return self.finding == "ok"


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes

    @property
    def models(self) -> frozenset[str] | None:
        """The ids of the list that the body is; None if it is none."""
        try:
            value: object = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return None
        data = cast("dict[str, object]", value).get("data") if isinstance(value, dict) else value
        if not isinstance(data, list):
            return None
        entries = [cast("dict[str, object]", one) for one in cast("list[object]", data) if isinstance(one, dict)]
        return frozenset(name for one in entries if isinstance(name := one.get("id"), str))


async def check(session: aiohttp.ClientSession, endpoint: Endpoint, kind: Kind, model: str | None) -> Checked:
    """Ask the provider. `model` None: none is set, and only URL and key are checked, as far as its list shows them."""
    return await _Check(session, endpoint, kind).run(model)


class _Check:
    def __init__(self, session: aiohttp.ClientSession, endpoint: Endpoint, kind: Kind) -> None:
        self._session = session
        self._endpoint = endpoint
        self._kind: Kind = kind
        self._name = f"provider {endpoint.name!r}"

    async def run(self, model: str | None) -> Checked:
        # The base URL of this kind is what its SDK takes, which has no version in it.
        listed = await self._ask("GET", "/v1/models?limit=1000" if self._kind == "anthropic" else "/models")
        if isinstance(listed, Checked):
            return listed
        refused = refusal(listed.status, listed.body) if listed.status != 200 else None
        if listed.status == 401 and refused is not None:
            return self._found("key", refused)
        models = listed.models if refused is None else None
        if model is None:
            return self._without_model(listed, refused, models)
        # A server that speaks alike may show its list to everybody, so that it says nothing of the key.
        if models is not None and model in models and self._kind != "openai-compatible":
            return self._is_usable(model)
        return await self._try(model, models)

    def _without_model(self, listed: _Reply, refused: ProviderError | None, models: frozenset[str] | None) -> Checked:
        if models is not None:
            return Checked("ok", f"The {self._name} answers and lists {len(models)} models.", "")
        if refused is None or listed.status in (404, 405):
            return self._no_api(listed)
        return self._found(_FINDINGS[refused.kind], refused)

    async def _try(self, model: str, models: frozenset[str] | None) -> Checked:
        """Ask the model for one token."""
        question: dict[str, object] = {"model": model, "messages": [{"role": "user", "content": "Hi"}]}
        question["max_completion_tokens" if self._kind == "openai" else "max_tokens"] = 1
        path = "/v1/messages" if self._kind == "anthropic" else "/chat/completions"
        reply = await self._ask("POST", path, orjson.dumps(question))
        if isinstance(reply, Checked):
            return reply
        if reply.status == 200:
            return self._is_usable(model) if _is_object(reply.body) else self._no_api(reply)
        refused = refusal(reply.status, reply.body)
        if reply.status in (404, 405) and refused.kind != "model":
            # It has a list, so that its address is right: what it does not find is the model.
            return self._no_api(reply) if models is None else self._has_no(model)
        finding = _FINDINGS[refused.kind]
        if finding == "ok":
            return self._is_usable(model)
        return self._has_no(model) if finding == "model" else self._found(finding, refused)

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> _Reply | Checked:
        headers = {"Content-Type": "application/json", **self._endpoint.headers()}
        if self._kind == "anthropic":
            headers["anthropic-version"] = ANTHROPIC_VERSION
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                self._session.request(
                    method, self._endpoint.url(path), data=body, headers=headers, timeout=timeout, allow_redirects=False
                ) as response,
            ):
                if 300 <= response.status < 400:
                    return self._redirects(response.headers.get("Location", ""))
                return _Reply(response.status, await _body(response))
        except TimeoutError as error:
            if isinstance(error, aiohttp.ClientError):
                return self._unreachable(error)
            message = f"The {self._name} accepted a connection, but sent no answer within {ANSWER_SECONDS:g} s."
            return Checked("failed", message, _ADVICE["failed"])
        except (aiohttp.ClientError, OSError) as error:
            return self._unreachable(error)

    def _unreachable(self, error: Exception) -> Checked:
        failure = explain(error, CONNECT_SECONDS)
        message = f"The {self._name} cannot be reached: {failure.said}."
        return Checked("tls" if failure.why == "tls" else "network", message, failure.advice)

    def _redirects(self, location: str) -> Checked:
        host = self._endpoint.without_key(redirect_host(location))
        to = f" to {host}" if host else ""
        return Checked("url", f"The {self._name} answers with a redirect{to}, which is not followed.", _ADVICE["url"])

    def _no_api(self, reply: _Reply) -> Checked:
        message = f"Something answers at the base URL of the {self._name} (status {reply.status}), but no model API."
        return Checked("url", message, _ADVICE["url"])

    def _has_no(self, model: str) -> Checked:
        message = f"The {self._name} accepts the key, but has no model {model!r}, or not for this key."
        return Checked("model", message, _ADVICE["model"])

    def _is_usable(self, model: str) -> Checked:
        return Checked("ok", f"The {self._name} answers, accepts the key and has the model {model!r}.", "")

    def _found(self, finding: Finding, refused: ProviderError) -> Checked:
        words = {
            "key": "does not accept the key",
            "busy": "has too much to do, or a limit of the account is reached",
            "ok": "answers",
        }
        message = f"The {self._name} {words.get(finding, 'reports an error')}: {refused.message}"
        return Checked(finding, self._endpoint.without_key(message), _ADVICE[finding])


async def _body(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < MAX_LIST_BYTES and (chunk := await response.content.readany()):
        parts.append(chunk)
        size += len(chunk)
    return b"".join(parts)


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(orjson.loads(body), dict)
    except orjson.JSONDecodeError:
        return False
