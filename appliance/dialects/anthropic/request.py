"""Reads the body of `POST /v1/messages`, and of its `count_tokens`, into a neutral `Chat`.

What only this dialect can say is noted in the `Chat` (`unsaid`) and refused by name where the call changes dialect,
never dropped; hints (`metadata`, `cache_control`, `context_management`, `service_tier`, `container`, `speed`, …) and
unknown fields are accepted. Must not know addresses: `model` is handed on as it was sent. Source: dialects.md §1.2.
"""

from dataclasses import dataclass, replace

from appliance.dialects.anthropic import messages, wishes
from appliance.dialects.anthropic.blocks import Gaps
from appliance.dialects.anthropic.inputs import long_inputs
from appliance.dialects.chat import Chat
from appliance.dialects.fields import Fields, wrong_type
from appliance.dialects.jsonbody import load_object


@dataclass(frozen=True, slots=True)
class Request:
    """A call. `model` is "" if it was missing or null."""

    model: str
    chat: Chat
    stream: bool


def parse(body: bytes) -> Request:
    """Reads a body. Raises DialectError naming the parameter, or none where the body as a whole is wrong."""
    fields = Fields(load_object(body))
    if fields.get("max_tokens") is None:
        raise wrong_type("max_tokens", "an integer of at least 1")
    return Request(fields.text("model") or "", _chat(fields, body), fields.flag("stream"))


def counted(body: bytes) -> Chat:
    """Reads a body whose tokens shall be counted, which has nothing of how it is answered. Raises DialectError."""
    return _chat(Fields(load_object(body)), body)


def _chat(fields: Fields, body: bytes) -> Chat:
    gaps = Gaps()
    first, turns = messages.system(fields, gaps), messages.turns(fields, gaps, long_inputs(body))
    tooling = wishes.tooling(fields, gaps)
    wishes.refuse_servers(fields)
    chat = Chat(
        (*first, *turns),
        wishes.sampling(fields),
        tools=tooling.tools,
        tool_choice=tooling.choice,
        parallel=tooling.parallel,
        format=wishes.answer_format(fields),
        effort=wishes.effort(fields),
        reminders=True,
    )
    return replace(chat, unsaid=gaps.unsaid)
