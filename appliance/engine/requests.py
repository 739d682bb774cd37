"""Ollama's request bodies: JSON bytes in, checked values out, in Ollama's words where something is wrong.

Pure: it knows neither which model is served nor llama.cpp. What the engine cannot do (tools, thinking, images,
structured output) is noticed here and refused, never ignored. `shift` is accepted and has no effect: the engine
never shifts its context, an answer that reaches the end of it ends as `length`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import orjson

from appliance.engine.durations import parse_keep_alive
from appliance.engine.refusal import Refused

MAX_TOP_LOGPROBS = 20
"""Alternatives per token that Ollama gives at most."""

_THINK_LEVELS = ("low", "medium", "high", "max")


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    """Any word: chat templates of some models know more than system, user and assistant."""
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    model: str
    messages: tuple[Message, ...]
    stream: bool
    truncate: bool
    keep_alive: float | None
    """Seconds, or `None` where the request does not say."""
    options: Mapping[str, object]
    logprobs: bool
    top_logprobs: int
    think: bool
    tools: bool
    images: bool
    format: bool

    @property
    def unloads(self) -> bool:
        """No messages and a `keep_alive` of zero: the model is to leave memory."""
        return not self.messages and self.keep_alive == 0


@dataclass(frozen=True, slots=True)
class ShowRequest:
    model: str
    verbose: bool


def parse_chat(body: bytes) -> ChatRequest:
    """Reads the body of `/api/chat`. Raises Refused (400)."""
    fields = _object(body, "ChatRequest")
    top_logprobs = fields.integer("top_logprobs")
    if not 0 <= top_logprobs <= MAX_TOP_LOGPROBS:
        raise Refused(400, f"top_logprobs must be between 0 and {MAX_TOP_LOGPROBS}")
    messages = [_Fields(item, "ChatRequest.messages") for item in fields.objects("messages")]
    return ChatRequest(
        model=_required_model(fields),
        messages=tuple(Message(each.text("role").lower(), each.text("content")) for each in messages),
        stream=fields.boolean("stream", default=True),
        truncate=fields.boolean("truncate", default=True),
        keep_alive=parse_keep_alive(fields.value("keep_alive")),
        options=fields.mapping("options"),
        logprobs=fields.boolean("logprobs", default=False),
        top_logprobs=top_logprobs,
        think=_thinks(fields.value("think")),
        tools=bool(fields.objects("tools")) or any(each.objects("tool_calls") for each in messages),
        images=any(each.array("images") for each in messages),
        format=fields.value("format") not in (None, ""),
    )


def parse_show(body: bytes) -> ShowRequest:
    """Reads the body of `/api/show`, where `name` is the older word for `model`. Raises Refused (400)."""
    fields = _object(body, "ShowRequest")
    model = fields.text("model") or fields.text("name")
    if not model:
        raise Refused(400, "model is required")
    return ShowRequest(model, fields.boolean("verbose", default=False))


def check_abilities(request: ChatRequest, tag: str) -> None:
    """Raises Refused (400) if the request needs more than text in and text out. `tag` is the model's full name."""
    if request.think:
        raise Refused(400, f'"{request.model}" does not support thinking')
    if request.tools:
        raise Refused(400, f"{tag} does not support tools")
    if request.images:
        raise Refused(
            400,
            '{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal '
            'requests.","type":"invalid_request_error"}}',
        )
    if request.format:
        raise Refused(400, "the embedded engine does not support structured output (format)")


class _Fields:
    """One JSON object of a request. `null` is the same as absent, as it is for Ollama."""

    def __init__(self, value: Mapping[str, object], place: str) -> None:
        self._value = value
        self._place = place

    def value(self, name: str) -> object:
        return self._value.get(name)

    def text(self, name: str) -> str:
        value = self.value(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._wrong(name, value, "string")
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self.value(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._wrong(name, value, "bool")
        return value

    def integer(self, name: str) -> int:
        value = self.value(name)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, value, "int")
        return value

    def mapping(self, name: str) -> Mapping[str, object]:
        value = self.value(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(name, value, "map[string]interface {}")
        return cast("dict[str, object]", value)

    def array(self, name: str) -> list[object]:
        value = self.value(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(name, value, "array")
        return cast("list[object]", value)

    def objects(self, name: str) -> list[dict[str, object]]:
        items = self.array(name)
        for item in items:
            if not isinstance(item, dict):
                raise self._wrong(name, item, "object")
        return cast("list[dict[str, object]]", items)

    def _wrong(self, name: str, value: object, wanted: str) -> Refused:
        return Refused(
            400, f"json: cannot unmarshal {_kind(value)} into Go struct field {self._place}.{name} of type {wanted}"
        )


def _object(body: bytes, place: str) -> _Fields:
    if not body.strip():
        raise Refused(400, "missing request body")
    try:
        value = cast("object", orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise Refused(400, _syntax_error(error)) from None
    if value is None:
        return _Fields({}, place)
    if not isinstance(value, dict):
        raise Refused(400, f"json: cannot unmarshal {_kind(value)} into Go value of type api.{place}")
    return _Fields(cast("dict[str, object]", value), place)


def _syntax_error(error: orjson.JSONDecodeError) -> str:
    """Ollama's sentence where the recordings have one, else what is wrong and where; never a piece of the body."""
    return "unexpected EOF" if "unexpected end of data" in str(error) else f"invalid JSON: {error}"


def _required_model(fields: _Fields) -> str:
    model = fields.text("model")
    if not model:
        raise Refused(400, "model is required")
    return model


def _thinks(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    if value in _THINK_LEVELS:
        return True
    raise Refused(400, 'think must be a boolean or string ("high", "medium", "low", "max", true, or false)')


def _kind(value: object) -> str:
    """What Go calls a JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "number"
