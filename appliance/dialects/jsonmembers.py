"""The members of a JSON object in its own text: other values for some of them, and no other byte changed.

Must not know what the members mean. Source: RFC 8259; architecture.md, rule 1.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

import orjson


class Absent:
    """The value of a member that shall not be there."""


ABSENT: Final = Absent()

TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
"""A string, or what changes the place. Numbers and words are passed over."""

_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class _Member:
    """A member and where it stands: its name begins at `start`, its value is from `value` to `end`."""

    name: str
    start: int
    value: int
    end: int


def with_members(document: str, members: Mapping[str, object | Absent]) -> str:
    """`document`, a valid JSON object, with these members at its top.

    A member that is there gets its new value in its place, wherever its name occurs; one that is not is added at the
    end; `ABSENT` takes it out, and the comma with it. A value is written as compact JSON, an `orjson.Fragment` as it
    is. Linear.
    """
    found = list(_members(document))
    kept = [member for member in found if not isinstance(members.get(member.name), Absent)]
    last = kept[-1].end if kept else document.index("{") + 1
    parts: list[str] = []
    at = 0
    for i, member in enumerate(found):
        new = members.get(member.name, member)
        if new is member:
            continue
        if not isinstance(new, Absent):
            parts += (document[at : member.value], _written(new))
            at = member.end
        elif member.start < last:
            parts.append(document[at : member.start])
            at = found[i + 1].start
        elif at < found[-1].end:
            # Nothing follows that stays: what goes begins with the comma before it.
            parts.append(document[at : last if kept else member.start])
            at = found[-1].end
    there = {member.name for member in found}
    added = [
        f"{_written(name)}:{_written(value)}"
        for name, value in members.items()
        if name not in there and not isinstance(value, Absent)
    ]
    if added:
        # Behind the last value, so that the white space before the bracket stays the last.
        end = found[-1].end if found else last
        parts += (document[at:end], "," if kept else "", ",".join(added))
        at = end
    return "".join([*parts, document[at:]])


def member(document: str, name: str) -> str | None:
    """The text of a member's value, of several the last, which is the one that counts; None where there is none."""
    values = [document[one.value : one.end] for one in _members(document) if one.name == name]
    return values[-1] if values else None


def _written(value: object) -> str:
    return orjson.dumps(value).decode()


def _members(document: str) -> Iterator[_Member]:
    """The members of the outermost object, in order."""
    depth = 0
    name: tuple[str, int, int] | None = None
    for token in TOKEN.finditer(document):
        start, end = token.span()
        what = document[start]
        if what == '"':
            if depth == 1 and name is None:
                colon = _COLON.match(document, end)
                name = (_decoded(document[start:end]), start, colon.end() if colon else end)
        elif what in "{[":
            depth += 1
        else:
            if depth == 1 and name is not None:
                value = document[name[2] : start].rstrip(SPACE)
                yield _Member(*name, name[2] + len(value))
                name = None
            if what != ",":
                depth -= 1


def _decoded(literal: str) -> str:
    return cast("str", orjson.loads(literal)) if "\\" in literal else literal[1:-1]
