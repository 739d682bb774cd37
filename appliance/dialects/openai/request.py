"""Reads the body of `POST /v1/chat/completions` into a neutral `Chat`.

What has an effect that this gateway cannot have is refused by name, never dropped; hints and unknown fields are
accepted and ignored. Must not know addresses: `model` is handed on as it was sent.
Source: dialects.md §1.1, gateway.md ("Errors").
"""

from dataclasses import dataclass

from appliance.dialects.chat import Chat, DialectError
from appliance.dialects.fields import Fields
from appliance.dialects.jsonbody import load_object
from appliance.dialects.openai import messages, tools, wishes

_WITHOUT_EFFECT: dict[str, tuple[object, ...]] = {
    "logit_bias": ({},),
    "modalities": (["text"], []),
    "audio": (),
    "web_search_options": (),
}
"""Parameters that would change the answer, each with the values that change nothing; null is always one of them."""


@dataclass(frozen=True, slots=True)
class Request:
    """A chat call. `model` is "" if it was missing or null; `include_usage` is true only when streaming.

    `legacy_functions`: the caller sent `functions`, and reads `function_call` in the answer.
    """

    model: str
    chat: Chat
    stream: bool
    include_usage: bool
    legacy_functions: bool = False


def parse(body: bytes) -> Request:
    """Reads a body. Raises DialectError naming the parameter, or none where the body as a whole is wrong."""
    fields = Fields(load_object(body))
    model = fields.text("model") or ""
    _refuse_effects(fields)
    stream = fields.flag("stream")
    # OpenAI refuses the options without a stream; clients that always send them mean no harm.
    options = fields.nested("stream_options")
    include_usage = options is not None and options.flag("include_usage")
    tooling = tools.parse(fields)
    chat = Chat(
        messages.parse(fields),
        wishes.sampling(fields),
        tools=tooling.tools,
        tool_choice=tooling.choice,
        parallel=tooling.parallel,
        format=wishes.response_format(fields),
        effort=wishes.effort(fields),
        choices=wishes.choices(fields),
    )
    return Request(model, chat, stream, stream and include_usage, tooling.legacy)


def _refuse_effects(fields: Fields) -> None:
    for name, allowed in _WITHOUT_EFFECT.items():
        value = fields.get(name)
        if value is not None and value not in allowed:
            param = fields.param(name)
            raise DialectError(f"`{param}` has a value that this gateway does not support.", param)
