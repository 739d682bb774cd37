"""Reads the content blocks of an Anthropic body: what of them a `Chat` can say, and a note of what it cannot.

A block that only this dialect knows is no error here: a call that stays in it is forwarded as it came. Whoever has to
say the call otherwise is stopped by the note. Source: dialects.md §1.2 ("Blocks").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import orjson

from appliance.dialects.chat import Part, Text, Unsaid
from appliance.dialects.fields import Fields, as_fields, wrong_type
from appliance.dialects.images import from_base64, remote

_ELSEWHERE = "is not supported by the models that this call goes to"


@dataclass(slots=True)
class Gaps:
    """Remembers the first thing that a `Chat` cannot say."""

    unsaid: Unsaid | None = None

    def note(self, param: str, what: str, why: str = _ELSEWHERE) -> None:
        """`what` is the subject of the sentence, and `why` its end."""
        if self.unsaid is None:
            self.unsaid = Unsaid(f"`{param}`: {what} {why}.", param)


def content(fields: Fields, name: str) -> list[Fields] | str | None:
    """The blocks of a field, or its text. Raises DialectError for anything else."""
    value = fields.get(name)
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise wrong_type(fields.param(name), "a string or a list of blocks")
    path = fields.param(name)
    return [as_fields(block, f"{path}[{i}]") for i, block in enumerate(cast("list[object]", value))]


def kind(block: Fields) -> str:
    """The `type` of a block. Raises DialectError where it has none."""
    return required(block, "type")


def required(fields: Fields, name: str) -> str:
    """A text that has to be there. Raises DialectError."""
    text = fields.text(name)
    if text is None:
        raise wrong_type(fields.param(name), "a string")
    return text


def parts(block: Fields, gaps: Gaps) -> Iterator[Part]:
    """What a block of a user, of a tool's result or of a document says. Raises DialectError for what nobody can say."""
    match kind(block):
        case "text":
            yield Text(required(block, "text"))
        case "image":
            yield from _image(block, gaps)
        case "document":
            yield from _document(block, gaps)
        case "search_result":
            yield from _search_result(block, gaps)
        case "tool_reference":
            yield Text(required(block, "tool_name"))
        case other:
            gaps.note(block.path, f"a block of the type {other[:40]!r}")


def texts(fields: Fields, name: str, gaps: Gaps) -> tuple[Part, ...]:
    """The parts of a text or of a list of blocks; none where there is nothing."""
    found = content(fields, name)
    if found is None:
        return ()
    if isinstance(found, str):
        return (Text(found),) if found else ()
    return tuple(part for block in found for part in parts(block, gaps))


def as_text(block: Fields) -> Text:
    """A block that the model or its provider made, in words that every model reads: as JSON."""
    return Text(orjson.dumps(block.values).decode())


def _image(block: Fields, gaps: Gaps) -> Iterator[Part]:
    source = as_fields(block.get("source"), block.param("source"))
    match kind(source):
        case "base64":
            yield from_base64(required(source, "data"), source.param("data"))
        case "url":
            raise remote(source.param("url"))
        case other:
            gaps.note(source.path, f"a picture from a source of the type {other[:40]!r}")


def _document(block: Fields, gaps: Gaps) -> Iterator[Part]:
    """A document that is text; its title and context are text before it."""
    citations = block.nested("citations")
    if citations is not None and citations.flag("enabled"):
        gaps.note(block.param("citations"), "citations of documents", "are not given by the models this call goes to")
    for name in ("title", "context"):
        said = block.text(name)
        if said:
            yield Text(said)
    source = as_fields(block.get("source"), block.param("source"))
    match kind(source):
        case "text":
            yield Text(required(source, "data"))
        case "content":
            yield from texts(source, "content", gaps)
        case "url":
            raise remote(source.param("url"))
        case "base64":
            gaps.note(block.path, f"a document of the type {(source.text('media_type') or '')[:40]!r}")
        case other:
            gaps.note(source.path, f"a document from a source of the type {other[:40]!r}")


def _search_result(block: Fields, gaps: Gaps) -> Iterator[Part]:
    for name in ("title", "source"):
        said = block.text(name)
        if said:
            yield Text(said)
    yield from texts(block, "content", gaps)
