"""Supplementary context as a part of the system prompt: blocks of data under titles, the most important first.

Must not know where a block stood in a body. Source: completions.md ("Request body", `supplementary`).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import orjson

Priority = Literal["high", "medium", "low"]

HEADING = "## SUPPLEMENTARY CONTEXT"

_ORDER: dict[Priority, int] = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True, slots=True)
class Block:
    """One section. `title` stands on one line; `data` is its text, as `as_text` gives it."""

    title: str
    data: str
    priority: Priority = "medium"


def render(blocks: Iterable[Block]) -> str:
    """The sections under their heading, high before medium before low and otherwise as they came; "" for none."""
    sections = [_section(block) for block in sorted(blocks, key=lambda block: _ORDER[block.priority])]
    return "\n\n".join([HEADING, *sections]) if sections else ""


def _section(block: Block) -> str:
    flag = " (HIGH PRIORITY)" if block.priority == "high" else ""
    return f"### {' '.join(block.title.split())}{flag}\n{block.data}"


def as_text(data: object, written: str | None = None) -> str:
    """What a model reads of a block's data: a string as it is, all else as JSON that is indented by two spaces.

    `written` is the data's own text in the body, where it has a number that does not survive being read.
    """
    if isinstance(data, str):
        return data
    if written is None:
        return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()
    try:
        return json.dumps(json.loads(written), ensure_ascii=False, indent=2)
    except ValueError:  # a number of thousands of digits, which nothing here can write again
        return written
