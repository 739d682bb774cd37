"""What goes to OpenAI, or to a server that speaks alike: the caller's own body where it can, else a `Chat` written out.

Must not know connections or keys. Source: architecture.md, rule 1; gateway.md ("Sensitive data that is not text");
the OpenAI API reference, "Create chat completion".
"""

from collections.abc import Callable, Mapping
from typing import cast

import orjson

from appliance.dialects.chat import Chat
from appliance.dialects.end_users import EndUser, hidden, metadata
from appliance.dialects.jsonmembers import member, with_members
from appliance.dialects.openai import written as writing
from appliance.dialects.openai.refusals import refusal
from appliance.dialects.openai.stream import Reader
from appliance.dialects.upstream import Outgoing

PATH = "/chat/completions"

MAX_CHOICES = 128
"""OpenAI's own limit of `n`."""

_END_USERS = ("user", "safety_identifier", "prompt_cache_key")
"""Members that name the person who asks. `metadata.user_id` is one too."""


def forwarded(body: str, *, model: str, end_user: EndUser, new_id: Callable[[], str]) -> Outgoing:
    """The caller's own Chat Completions body, a valid JSON object, with no byte changed but these: `model`, the stream
    with its usage, and the names of end users, each replaced by what `end_user` makes of it.

    `new_id` makes the ids of tool calls.
    """
    fields = cast("dict[str, object]", orjson.loads(body))
    members: dict[str, object] = {
        "model": model,
        "stream": True,
        "stream_options": _stream_options(body, fields),
        **_end_users(body, fields, end_user),
    }
    wanted = fields.get("n")
    choices = min(wanted, MAX_CHOICES) if isinstance(wanted, int) and wanted > 0 else 1
    parallel = fields.get("parallel_tool_calls") is not False
    return _outgoing(with_members(body, members).encode(), lambda: Reader(new_id, choices=choices, parallel=parallel))


def written(chat: Chat, *, model: str, new_id: Callable[[], str], compatible: bool = False, first: int = 0) -> Outgoing:
    """A call of another dialect. `compatible`: the server is not OpenAI's own. `first`: the number of its first answer,
    where the chat is for some of a call's answers only.

    Raises DialectError naming what the provider has no word for.
    """
    body = orjson.dumps(writing.body(chat, model=model, compatible=compatible))
    return _outgoing(body, lambda: Reader(new_id, choices=chat.choices, parallel=chat.parallel, first=first))


def _outgoing(body: bytes, reader: Callable[[], Reader]) -> Outgoing:
    return Outgoing(PATH, {}, body, reader, refusal)


def _stream_options(body: str, fields: Mapping[str, object]) -> object:
    text = member(body, "stream_options")
    if text is None or not isinstance(fields["stream_options"], dict):
        return {"include_usage": True}
    return orjson.Fragment(with_members(text, {"include_usage": True}))


def _end_users(body: str, fields: Mapping[str, object], end_user: EndUser) -> dict[str, object]:
    """The members that name end users, replaced; of a name that comes twice every one, whatever it says."""
    named = {name: hidden(fields[name], end_user) for name in _END_USERS if name in fields}
    return {**named, **metadata(body, fields, end_user)}
