"""The bodies of `/api/chat`, `/api/generate` and `/api/show`: JSON bytes in, checked values out, in Ollama's words.

Pure: it knows neither which models are served nor llama.cpp. What the asked model cannot do is refused here, never
ignored. `shift` is accepted and has no effect: the engine never shifts its context, an answer that reaches the end of
it ends as `length`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from appliance.engine.durations import parse_keep_alive
from appliance.engine.fields import Fields, read_object
from appliance.engine.refusal import Refused
from appliance.engine.tools import Tool, ToolCall, check_names, parse_calls, parse_tools

MAX_TOP_LOGPROBS = 20
"""Alternatives per token that Ollama gives at most."""

_THINK_LEVELS = ("low", "medium", "high", "max")
_NO_IMAGES = (
    '{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal '
    'requests.","type":"invalid_request_error"}}'
)


@dataclass(frozen=True, slots=True)
class Message:
    """`role` is any word: chat templates of some models know more than system, user, assistant and tool."""

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the two ways to ask for text have in common. `format` is as the request wrote it."""

    model: str
    stream: bool
    truncate: bool
    keep_alive: float | None
    """Seconds, or `None` where the request does not say."""
    options: Mapping[str, object]
    logprobs: bool
    top_logprobs: int
    think: bool
    format: object


@dataclass(frozen=True, slots=True)
class ChatRequest:
    terms: Terms
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    images: bool

    @property
    def unloads(self) -> bool:
        """No messages and a `keep_alive` of zero: the model is to leave memory."""
        return not self.messages and self.terms.keep_alive == 0


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """`context` is the tokens of an earlier exchange, which the prompt continues."""

    terms: Terms
    prompt: str
    system: str
    suffix: str
    template: str
    context: tuple[int, ...]
    raw: bool
    images: bool

    @property
    def unloads(self) -> bool:
        return not self.prompt and self.terms.keep_alive == 0


@dataclass(frozen=True, slots=True)
class ShowRequest:
    model: str
    verbose: bool


def parse_chat(body: bytes) -> ChatRequest:
    """Reads the body of `/api/chat`. Raises Refused (400)."""
    fields = read_object(body, "ChatRequest")
    terms = _terms(fields)
    messages = fields.objects("messages")
    return ChatRequest(
        terms=terms,
        messages=tuple(_message(each) for each in messages),
        tools=parse_tools(fields),
        images=any(each.array("images") for each in messages),
    )


def parse_generate(body: bytes) -> GenerateRequest:
    """Reads the body of `/api/generate`. Raises Refused (400)."""
    fields = read_object(body, "GenerateRequest")
    return GenerateRequest(
        terms=_terms(fields),
        prompt=fields.text("prompt"),
        system=fields.text("system"),
        suffix=fields.text("suffix"),
        template=fields.text("template"),
        context=tuple(fields.integers("context")),
        raw=fields.boolean("raw", default=False),
        images=bool(fields.array("images")),
    )


def parse_show(body: bytes) -> ShowRequest:
    """Reads the body of `/api/show`, where `name` is the older word for `model`. Raises Refused (400)."""
    fields = read_object(body, "ShowRequest")
    model = fields.text("model") or fields.text("name")
    if not model:
        raise Refused(400, "model is required")
    return ShowRequest(model, fields.boolean("verbose", default=False))


def check_chat(request: ChatRequest, tag: str, *, tools: bool) -> None:
    """Raises Refused (400) for what the model cannot do. `tag` is its full name, `tools` whether it calls tools."""
    _check_thinking(request.terms)
    if not tools and (request.tools or any(message.calls for message in request.messages)):
        raise Refused(400, f"{tag} does not support tools")
    check_names(request.tools)
    if request.images:
        raise Refused(400, _NO_IMAGES)


def check_generate(request: GenerateRequest, tag: str) -> None:
    """Raises Refused (400) for what the model cannot do, and for what contradicts itself."""
    if request.raw and (request.template or request.system or request.context):
        raise Refused(400, "raw mode does not support template, system, or context")
    _check_thinking(request.terms)
    if request.suffix:
        raise Refused(400, f"{tag} does not support insert")
    if request.template:
        raise Refused(400, "the embedded engine does not support another template")
    if request.images:
        raise Refused(400, _NO_IMAGES)


def _terms(fields: Fields) -> Terms:
    top_logprobs = fields.integer("top_logprobs")
    if not 0 <= top_logprobs <= MAX_TOP_LOGPROBS:
        raise Refused(400, f"top_logprobs must be between 0 and {MAX_TOP_LOGPROBS}")
    return Terms(
        model=fields.model(),
        stream=fields.boolean("stream", default=True),
        truncate=fields.boolean("truncate", default=True),
        keep_alive=parse_keep_alive(fields.value("keep_alive")),
        options=fields.mapping("options"),
        logprobs=fields.boolean("logprobs", default=False),
        top_logprobs=top_logprobs,
        think=_thinks(fields.value("think")),
        format=fields.value("format"),
    )


def _message(fields: Fields) -> Message:
    return Message(
        role=fields.text("role").lower(),
        content=fields.text("content"),
        calls=parse_calls(fields),
        tool_name=fields.text("tool_name"),
        tool_call_id=fields.text("tool_call_id"),
    )


def _check_thinking(terms: Terms) -> None:
    if terms.think:
        raise Refused(400, f'"{terms.model}" does not support thinking')


def _thinks(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    if value in _THINK_LEVELS:
        return True
    raise Refused(400, 'think must be a boolean or string ("high", "medium", "low", "max", true, or false)')
