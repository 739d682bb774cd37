"""Reads the body of `POST /v1/ai/complete` into a neutral `Chat`, and what is to be extracted after its answer.

`model` and `stream` are ignored here, as unknown fields are: the gateway decides the one, and the answer comes whole.
Source: completions.md ("Request body", "Responses").
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, cast

from appliance.dialects.chat import Chat, DialectError, Format, Message, Role, Sampling, Text
from appliance.dialects.fields import Fields, as_fields, wrong_type
from appliance.dialects.jsonbody import load_object
from appliance.dialects.jsonlists import elements
from appliance.dialects.jsonmembers import member
from appliance.dialects.native.supplementary import Block, Priority, as_text, render
from appliance.dialects.openai import wishes

MAX_MESSAGES = 10_000
MAX_BLOCKS = 1_000
MAX_CATEGORIES = 100
MAX_CATEGORY_CHARACTERS = 100
MAX_SOURCE_CHARACTERS = 500

JSON_INSTRUCTION = "Answer with one JSON object and nothing else."
"""Ends the system prompt in JSON mode. Models that have the mode need it too: OpenAI refuses it to a prompt that does
not ask for JSON in words, and others go on with blanks for ever (both APIs' references, `json_object` and `format`)."""

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_PRIORITIES: Mapping[str, Priority] = {"high": "high", "medium": "medium", "low": "low"}

_LONG = re.compile(rb"[0-9]{19}")
"""Digits in a row as every integer beyond 63 bits has them, which would be read as a float."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What to extract from the last user message: facts of these categories, each once, under the label `source`."""

    source: str
    categories: tuple[str, ...]
    persist: bool


@dataclass(frozen=True, slots=True)
class Request:
    """`chat` is the call. `drives` is what alone decides where it goes: the user's last message, and the format."""

    chat: Chat
    drives: Chat
    extraction: Extraction | None


def parse(content: bytes) -> Request:
    """Reads a body. Raises DialectError with a sentence in the seed's own style, naming the field."""
    try:
        fields = Fields(load_object(content))
        said = _chat(fields, content)
        return Request(said, _drives(said), _extraction(fields.nested("extraction")))
    except DialectError as error:
        _raise_plain(error)


def parse_chat(content: bytes) -> Chat:
    """The call of a body that was read before, and whose texts may be others by now: longer than a text may be that
    does not go to a model. Raises DialectError."""
    return _chat(Fields(load_object(content)), content)


def _raise_plain(error: DialectError) -> NoReturn:
    """`x` must be a string. → x must be a string"""
    message = error.message
    if message.startswith("`"):
        message = message.replace("`", "").removesuffix(".")
    raise DialectError(message, error.param) from None


def _chat(fields: Fields, content: bytes) -> Chat:
    instructions = _filled(fields, "systemPrompt", "systemPrompt is required and must not be empty")
    messages = _messages(fields)
    context = render(_blocks(fields, content))
    wanted = Format() if fields.flag("json") else None
    system = [instructions, context, JSON_INSTRUCTION if wanted else ""]
    prompt = Message("system", (Text("\n\n".join(part for part in system if part)),))
    return Chat((prompt, *messages), _sampling(fields), format=wanted)


def _drives(chat: Chat) -> Chat:
    last = next((message for message in reversed(chat.messages) if message.role == "user"), None)
    return Chat((last,) if last else (), format=chat.format)


def _filled(fields: Fields, name: str, required: str) -> str:
    """A text that is there and not blank. `required` is the sentence for one that is not."""
    text = fields.text(name)
    if text is None or not text.strip():
        raise DialectError(required, fields.param(name))
    return text


def _messages(fields: Fields) -> list[Message]:
    messages = _array(fields, "messages")
    if not messages:
        raise DialectError("messages array is required and must not be empty", "messages")
    if len(messages) > MAX_MESSAGES:
        raise wrong_type("messages", f"an array of at most {MAX_MESSAGES} messages")
    return [_message(as_fields(message, f"messages[{i}]")) for i, message in enumerate(messages)]


def _array(fields: Fields, name: str) -> list[object]:
    """The items of an array; none where it is missing, or is something else."""
    value = fields.get(name)
    return cast("list[object]", value) if isinstance(value, list) else []


def _message(fields: Fields) -> Message:
    role = _ROLES.get(fields.text("role") or "")
    if role is None:
        raise wrong_type(fields.param("role"), "one of user, assistant and system")
    content = fields.text("content")
    if content is None:
        raise wrong_type(fields.param("content"), "a string")
    return Message(role, (Text(content),) if content else ())


def _blocks(fields: Fields, content: bytes) -> list[Block]:
    blocks = fields.items("supplementary") or []
    if len(blocks) > MAX_BLOCKS:
        raise wrong_type("supplementary", f"an array of at most {MAX_BLOCKS} blocks")
    written = _written(content, len(blocks))
    return [_block(as_fields(one, f"supplementary[{i}]"), written[i]) for i, one in enumerate(blocks)]


def _written(content: bytes, count: int) -> list[str | None]:
    """The text of each block where a number in the body may be too long to be read."""
    if not count or not _LONG.search(content):
        return [None] * count
    return [*elements(member(content.decode(), "supplementary") or "[]")]


def _block(fields: Fields, written: str | None) -> Block:
    category = _filled(fields, "category", f"{fields.param('category')} is required and must not be empty")
    label = fields.text("label") or ""
    data = fields.get("data")
    if data is None:
        raise DialectError(f"{fields.param('data')} is required", fields.param("data"))
    named = fields.text("priority")
    priority = _PRIORITIES.get("medium" if named is None else named)
    if priority is None:
        raise wrong_type(fields.param("priority"), "one of high, medium and low")
    text = as_text(data, None if written is None else member(written, "data"))
    return Block(label if label.strip() else category, text, priority)


def _sampling(fields: Fields) -> Sampling:
    return wishes.sampling(Fields({name: fields.get(name) for name in ("max_tokens", "temperature")}))


def _extraction(fields: Fields | None) -> Extraction | None:
    if fields is None:
        return None
    source = _filled(fields, "source", "extraction.source is required")
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise wrong_type(fields.param("source"), f"a string of at most {MAX_SOURCE_CHARACTERS} characters")
    categories = _array(fields, "categories")
    if not categories:
        param = fields.param("categories")
        raise DialectError("extraction.categories array is required and must not be empty", param)
    if len(categories) > MAX_CATEGORIES:
        raise wrong_type(fields.param("categories"), f"an array of at most {MAX_CATEGORIES} categories")
    named = [_category(one, f"{fields.param('categories')}[{i}]") for i, one in enumerate(categories)]
    persist = True if fields.get("persist") is None else fields.flag("persist")
    return Extraction(source, tuple(dict.fromkeys(named)), persist)


def _category(value: object, param: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_CATEGORY_CHARACTERS:
        raise wrong_type(param, f"a string of 1 to {MAX_CATEGORY_CHARACTERS} characters, not all blank")
    return value
