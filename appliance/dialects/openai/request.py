"""Reads the body of `POST /v1/chat/completions` into a neutral `Chat`.

What has an effect that this gateway cannot have is refused by name, never dropped; hints and unknown fields are
accepted and ignored. Must not know addresses: `model` is handed on as it was sent.
Source: dialects.md §1.1, gateway.md ("Errors").
"""

from dataclasses import dataclass
from typing import cast

from appliance.dialects.chat import Chat, DialectError, Message, Role, Sampling
from appliance.dialects.fields import Fields, as_fields, wrong_type
from appliance.dialects.jsonbody import load_object

ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}

MIN_INT, MAX_INT = -(2**63), 2**63 - 1
"""Ollama reads integer options into Go's `int`."""

_WITHOUT_EFFECT: dict[str, tuple[object, ...]] = {
    "tools": ([],),
    "functions": ([],),
    "tool_choice": ("none", "auto"),
    "function_call": ("none", "auto"),
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "reasoning_effort": ("none",),
    "modalities": (["text"], []),
    "audio": (),
    "web_search_options": (),
}
"""Parameters that would change the answer, each with the values that change nothing; null is always one of them."""

_OF_A_MESSAGE: dict[str, tuple[object, ...]] = {"tool_calls": ([],), "function_call": (), "audio": ()}
"""The same for the fields of a message in the history."""


@dataclass(frozen=True, slots=True)
class Request:
    """A chat call. `model` is "" if it was missing or null; `include_usage` is true only when streaming."""

    model: str
    chat: Chat
    stream: bool
    include_usage: bool


def parse(body: bytes) -> Request:
    """Reads a body. Raises DialectError naming the parameter, or none where the body as a whole is wrong."""
    fields = Fields(load_object(body))
    model = fields.text("model") or ""
    _refuse_effects(fields, _WITHOUT_EFFECT)
    _refuse_format(fields)
    _refuse_reasoning(fields)
    stream = fields.flag("stream")
    # OpenAI refuses the options without a stream; clients that always send them mean no harm.
    options = fields.nested("stream_options")
    include_usage = options is not None and options.flag("include_usage")
    chat = Chat(_messages(fields), _sampling(fields))
    return Request(model, chat, stream, stream and include_usage)


def _refuse_effects(fields: Fields, harmless: dict[str, tuple[object, ...]]) -> None:
    for name, allowed in harmless.items():
        value = fields.get(name)
        # By type too: in Python True equals 1 and False equals 0.
        if value is None or any(type(value) is type(one) and value == one for one in allowed):
            continue
        raise _not_supported(fields.param(name))


def _refuse_format(fields: Fields) -> None:
    wanted = fields.nested("response_format")
    if wanted is not None and wanted.text("type") != "text":
        raise _not_supported(fields.param("response_format"))


def _refuse_reasoning(fields: Fields) -> None:
    reasoning = fields.get("reasoning")
    if isinstance(reasoning, dict):
        _refuse_effects(as_fields(cast("object", reasoning), "reasoning"), {"effort": ("none",)})


def _not_supported(param: str) -> DialectError:
    return DialectError(f"`{param}` has a value that this gateway does not support.", param)


def _messages(fields: Fields) -> tuple[Message, ...]:
    messages = fields.items("messages")
    if not messages:
        raise DialectError("`messages` must be a list with at least one message.", "messages")
    return tuple(_message(as_fields(message, f"messages[{i}]")) for i, message in enumerate(messages))


def _message(fields: Fields) -> Message:
    name = fields.text("role")
    if name in ("tool", "function"):
        raise _not_supported(fields.param("role"))
    role = ROLES.get(name or "")
    if role is None:
        raise wrong_type(fields.param("role"), "one of system, developer, user and assistant")
    _refuse_effects(fields, _OF_A_MESSAGE)
    text = _content(fields, role)
    # An assistant that declined says so here instead of in `content`; clients play it back with the history.
    refusal = fields.text("refusal") if role == "assistant" else None
    return Message(role, text + (refusal or ""))


def _content(fields: Fields, role: Role) -> str:
    content = fields.get("content")
    if isinstance(content, str):
        return content
    if content is None and role == "assistant":
        return ""  # how clients play back a turn without text
    if not isinstance(content, list):
        raise wrong_type(fields.param("content"), "a string or a list of parts")
    parts = cast("list[object]", content)
    path = fields.param("content")
    # Joined by nothing: a separator would be prompt text that the caller did not write.
    return "".join(_part(as_fields(part, f"{path}[{j}]"), role) for j, part in enumerate(parts))


def _part(fields: Fields, role: Role) -> str:
    kind = fields.text("type")
    if kind is None:
        raise wrong_type(fields.param("type"), "a string")
    leaf = "refusal" if kind == "refusal" and role == "assistant" else "text"
    if kind != leaf:
        raise DialectError(f"`{fields.path}` is of a type that is not supported by this gateway.", fields.path)
    text = fields.text(leaf)
    if text is None:
        raise wrong_type(fields.param(leaf), "a string")
    return text


def _sampling(fields: Fields) -> Sampling:
    return Sampling(
        temperature=fields.number("temperature", 0, 2),
        top_p=fields.number("top_p", 0, 1),
        frequency_penalty=fields.number("frequency_penalty", -2, 2),
        presence_penalty=fields.number("presence_penalty", -2, 2),
        seed=fields.integer("seed", MIN_INT, MAX_INT),
        stop=_stop(fields),
        max_tokens=_max_tokens(fields),
    )


def _stop(fields: Fields) -> tuple[str, ...]:
    value = fields.get("stop")
    if value is None:
        return ()
    sequences = cast("list[object]", value) if isinstance(value, list) else [value]
    texts = [one for one in sequences if isinstance(one, str)]
    if len(texts) != len(sequences):
        raise wrong_type(fields.param("stop"), "a string or a list of strings")
    # An empty sequence stops nothing, but some servers would find it everywhere.
    return tuple(text for text in texts if text)


def _max_tokens(fields: Fields) -> int | None:
    old = fields.integer("max_tokens", MIN_INT, MAX_INT)
    new = fields.integer("max_completion_tokens", MIN_INT, MAX_INT)
    return next((limit for limit in (new, old) if limit is not None and limit > 0), None)
