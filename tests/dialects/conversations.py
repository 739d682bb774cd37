"""Conversations for property tests, as OpenAI and Anthropic themselves take them, and what they come to in between.

Valid is what both APIs accept: no text is blank, every call is answered directly behind its turn, the last word is not
the assistant's, and a system message stands at the beginning. Sources: the OpenAI API reference, "Create chat
completion"; Anthropic's documentation, "Messages" and "Tool use"; dialects.md §1.1 and §1.2.
"""

import base64
import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from hypothesis import strategies as st

from tests.dialects.answers import JSON_OBJECTS, TEXT

Json = dict[str, Any]

WORDS = st.builds("{}é{}".format, TEXT, TEXT)
"""Texts with anything around, so that nothing may be trimmed, and never blank."""

NAMES = st.text("abzAZ019_-", min_size=1, max_size=12)
IDS = st.text("abzAZ019_-", min_size=1, max_size=6)
"""Both of the characters that Anthropic takes."""

PICTURES = st.binary(max_size=9).map(b"\x89PNG\r\n\x1a\n".__add__).map(lambda data: base64.b64encode(data).decode())


def part(text: str) -> Json:
    """A text, which is the same in both dialects."""
    return {"type": "text", "text": text}


def picture(data: str) -> Json:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def image(data: str) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


TEXTS = st.lists(WORDS.map(part), min_size=1, max_size=3)
PARTS = st.lists(WORDS.map(part) | PICTURES.map(picture), min_size=1, max_size=4)
BLOCKS = st.lists(WORDS.map(part) | PICTURES.map(image), min_size=1, max_size=4)


@st.composite
def openai(draw: st.DrawFn, ids: st.SearchStrategy[str] = IDS, *, again: bool = False) -> list[Json]:
    """The `messages` of a call; `again`: an id may come back in a later turn, as servers that count from 0 do it."""
    messages = [{"role": "system", "content": one} for one in draw(st.lists(WORDS | TEXTS, max_size=2))]
    taken: set[str] = set()
    unused = ids.filter(lambda one: again or one not in taken)
    for kind in draw(st.lists(st.sampled_from(["user", "assistant", "call"]), max_size=5)):
        if kind == "user":
            messages.append({"role": "user", "content": draw(WORDS | PARTS)})
        elif kind == "assistant":
            messages.append({"role": "assistant", "content": draw(WORDS | TEXTS)})
        else:
            made = draw(_calls(unused))
            taken |= {one["id"] for one in made}
            messages.append({"role": "assistant", "content": draw(st.none() | WORDS | TEXTS), "tool_calls": made})
            messages += [
                {"role": "tool", "tool_call_id": one["id"], "content": draw(WORDS | TEXTS)}
                for one in draw(st.permutations(made))
            ]
    if not messages or messages[-1]["role"] in ("system", "assistant"):
        messages.append({"role": "user", "content": draw(WORDS | PARTS)})
    return messages


@st.composite
def _calls(draw: st.DrawFn, ids: st.SearchStrategy[str]) -> list[Json]:
    drawn = draw(st.lists(st.tuples(ids, NAMES, JSON_OBJECTS), min_size=1, max_size=3, unique_by=lambda one: one[0]))
    return [
        {"id": i, "type": "function", "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False)}}
        for i, name, given in drawn
    ]


def there_and_back(messages: list[Json], opening: str) -> list[Json]:
    """What OpenAI's messages are once they have been Anthropic's: turns of one role are one, which `opening` begins if
    nobody else does; the texts of a turn of Anthropic's are read apart, so that a line's end is between them."""
    systems = [one for one in messages if one["role"] == "system"]
    spoken = [one for one in messages if one["role"] != "system"]
    told = [{"role": "system", "content": _joined(systems, "\n")}] if systems else []
    if spoken[0]["role"] == "assistant":
        told.append({"role": "user", "content": opening})
    for is_assistant, turns in groupby(spoken, key=lambda one: one["role"] == "assistant"):
        run = [*turns]
        if is_assistant:
            calls = [call for one in run for call in one.get("tool_calls", [])]
            said = _joined(run, None) or None
            told.append({"role": "assistant", "content": said} | ({"tool_calls": calls} if calls else {}))
            continue
        told += [one | {"content": _joined([one], "\n")} for one in run if one["role"] == "tool"]
        users = [one for one in run if one["role"] == "user"]
        told += [{"role": "user", "content": _joined(users, "\n")}] if users else []
    return told


def _joined(messages: Iterable[Json], joint: str | None) -> str | list[Json]:
    """The parts of several messages: those of one that stand beside each other are one text, and all of them are if
    there is a `joint`, or but one."""
    parts: list[Json] = []
    for message in messages:
        content = message["content"] or []
        parts += _neighbours(_list(content))
    texts = [one["text"] for one in parts if one["type"] == "text"]
    if len(texts) == len(parts) and (joint is not None or len(parts) < 2):
        return (joint or "").join(texts)
    return parts


CALLS = st.builds(
    lambda i, name, given: {"type": "tool_use", "id": i, "name": name, "input": given}, IDS, NAMES, JSON_OBJECTS
)
RESULTS = st.fixed_dictionaries({}, optional={"content": WORDS | BLOCKS})


@st.composite
def anthropic(draw: st.DrawFn) -> Json:
    """`system` and `messages` of a call, of what OpenAI's dialect can say too."""
    body: Json = {"system": draw(WORDS | TEXTS)} if draw(st.booleans()) else {}
    messages: list[Json] = [{"role": "user", "content": draw(WORDS | BLOCKS)}]
    taken: set[str] = set()
    unused = CALLS.filter(lambda one: one["id"] not in taken)
    for _ in range(draw(st.integers(0, 3))):
        calls = draw(st.lists(unused, max_size=3, unique_by=lambda one: one["id"]))
        taken |= {one["id"] for one in calls}
        said = draw(st.lists(WORDS.map(part), min_size=0 if calls else 1, max_size=2))
        messages.append({"role": "assistant", "content": [*said, *calls]})
        results = [
            {"type": "tool_result", "tool_use_id": one["id"]} | draw(RESULTS) for one in draw(st.permutations(calls))
        ]
        rest = draw(st.just([]) | BLOCKS if results else BLOCKS)
        messages.append({"role": "user", "content": [*results, *rest]})
    return body | {"messages": messages}


def back_and_there(body: Json) -> Json:
    """What Anthropic's `system` and `messages` are once they have been OpenAI's: the texts of a turn that are all that
    it says are one, with a line's end between them; the pictures of results follow all results."""
    told: Json = {"system": [part(_texts(body["system"], "\n"))]} if "system" in body else {}
    return told | {"messages": [_anthropic_turn(one) for one in body["messages"]]}


def _anthropic_turn(message: Json) -> Json:
    content = message["content"]
    blocks = [part(content)] if isinstance(content, str) else content
    if message["role"] == "assistant":
        said = _texts([one for one in blocks if one["type"] == "text"], "")
        calls = [one for one in blocks if one["type"] == "tool_use"]
        return {"role": "assistant", "content": [*([part(said)] if said else []), *calls]}
    results: list[Json] = []
    pictures: list[Json] = []
    for one in blocks:
        if one["type"] == "tool_result":
            given = _list(one.get("content", []))
            text = _texts(given, "\n")
            content = {"content": [part(text)]} if text else {}
            results.append({"type": "tool_result", "tool_use_id": one["tool_use_id"]} | content)
            pictures += [each for each in given if each["type"] == "image"]
    rest = [one for one in blocks if one["type"] != "tool_result"]
    plain = all(one["type"] == "text" for one in rest)
    said = [part(_texts(rest, "\n"))] if plain and rest else _neighbours(rest)
    return {"role": "user", "content": [*results, *pictures, *said]}


def _list(content: str | list[Json]) -> list[Json]:
    return [part(content)] if isinstance(content, str) else content


def _texts(content: str | list[Json], joint: str) -> str:
    return joint.join(one["text"] for one in _list(content) if one["type"] == "text")


def _neighbours(parts: list[Json]) -> list[Json]:
    """The parts, with texts that stand beside each other as one."""
    out: list[Json] = []
    for one in parts:
        if out and one["type"] == out[-1]["type"] == "text":
            out[-1] = part(out[-1]["text"] + one["text"])
        else:
            out.append(one)
    return out
