"""The strings of a JSON document, and the same document with other strings and no other byte changed.

Where a string is a document again, as the arguments of a tool call are, its own strings take its place. Long numbers
are texts too: a telephone number is one as often as not. It must not know what the document means: a caller says which
strings and numbers are no text, and which values are documents of their own, though they stand in this one as they are.
Source: RFC 8259; architecture.md, rules 1, 2.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, Self, cast

import orjson

Path = tuple[str | int, ...]
"""The names and indices that lead to a value; of a name itself, those that lead to its object, and `KEY`."""

KEY = -1
"""Stands last in the path of an object's name."""

IsText = Callable[[Path, str], bool]
"""Whether the string at this path, decoded, is to be read as text."""

ReadsNumber = Callable[[Path], bool]
"""Whether the number at this path, outside of documents of their own, is to be read as text."""

IsDocument = Callable[[Path], bool]
"""Whether the object or list at this path is a document of its own, whose strings are all text."""

MAX_LEVELS = 16
"""Documents inside strings inside documents. Each level doubles the backslashes, so that real ones have three."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
"""A string, or what changes the place. Numbers and words are passed over."""

_TOKEN_OR_NUMBER = re.compile(
    rf"{_TOKEN.pattern}|(?<![0-9.eE+\-])-?(?:[1-9][0-9]{{5,}}(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?"
    r"|[0-9]+(?:\.[0-9]+)?[eE]\+?[0-9]+)",
    re.DOTALL,
)
"""That, or a number that may have six digits before its point: what has fewer names nobody."""

_FEWEST_DIGITS, _MOST_DIGITS = 6, 40


@dataclass(frozen=True, slots=True)
class _Piece:
    """A string or number of the document: where its literal stands, quotes included, and what it says."""

    path: Path
    start: int
    end: int
    text: str
    label: str
    inner: "JsonText | None"


class Leaf(NamedTuple):
    """A text with its path; that of a text in an inner document goes on from where the document stands.

    `label` is the name that it has in the inner document, in words: what a reader of it would know it by. A string that
    is in no inner document has none.
    """

    path: Path
    text: str
    label: str = ""


class TooDeep(Exception):
    """A string holds documents inside documents to more levels than are read."""


class JsonText:
    """`texts` are the strings and long numbers in the order of the document, those of inner documents in their place.

    A number's text are the digits of the whole number that it is, however it is written (`-3.36e10`). One that is given
    another text becomes a string.
    """

    def __init__(self, source: str, pieces: tuple[_Piece, ...]) -> None:
        self._source = source
        self._pieces = pieces

    @classmethod
    def read(
        cls,
        source: str,
        is_text: IsText,
        is_document: IsDocument | None = None,
        reads_number: ReadsNumber | None = None,
        *,
        level: int = 0,
    ) -> Self:
        """The texts of `source`, which has to be a valid document. Linear. Raises TooDeep."""
        pieces: list[_Piece] = []
        for path, start, end, inside in _literals(source, is_document, everywhere=level > 0):
            if source[start] != '"':
                number = _digits(source[start:end])
                if number and (inside is not None or (reads_number and reads_number(path))):
                    pieces.append(_Piece(path, start, end, number, _label(path[inside or 0 :]), None))
                continue
            text = _decoded(source[start:end])
            if inside is not None or is_text(path, text):
                label = "" if inside is None else _label(path[inside:])
                pieces.append(_Piece(path, start, end, text, label, _inner(text, level + 1)))
        return cls(source, tuple(pieces))

    @property
    def leaves(self) -> Iterator[Leaf]:
        """Each text with where it stands."""
        for piece in self._pieces:
            if piece.inner is None:
                yield Leaf(piece.path, piece.text, piece.label)
            else:
                for leaf in piece.inner.leaves:
                    yield Leaf((*piece.path, *leaf.path), leaf.text, leaf.label or piece.label)

    @property
    def texts(self) -> Iterator[str]:
        return (leaf.text for leaf in self.leaves)

    def with_texts(self, texts: Iterable[str]) -> str:
        """The document with these in place of `texts`, as many and in the same order."""
        return self._written(iter(texts))

    def _written(self, texts: Iterator[str]) -> str:
        parts: list[str] = []
        at = 0
        for piece in self._pieces:
            text = next(texts) if piece.inner is None else piece.inner._written(texts)
            if text != piece.text:
                parts += (self._source[at : piece.start], json.dumps(text, ensure_ascii=False))
                at = piece.end
        return "".join([*parts, self._source[at:]])


def _label(path: Path) -> str:
    """`patientLastName` → `patient Last Name`; of a list's entries, the list's name. A name that says nothing by itself
    has the one above it before: `phone`, `value` → `phone value`."""
    if not path or path[-1] == KEY:
        return ""
    names: list[str] = []
    for step in reversed(path):
        if isinstance(step, str):
            names.append(step)
            if step.lower() not in _SAY_NOTHING or len(names) == _MOST_NAMES:
                break
    return " ".join(_JOINTS.sub(" ", name).strip() for name in reversed(names))


_SAY_NOTHING = frozenset({
    "value", "values", "val", "raw", "default", "const", "enum", "example", "examples", "number", "data", "content",
    "text", "string",
})  # fmt: skip
_MOST_NAMES = 3
_JOINTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-.]+")


def _inner(text: str, level: int) -> JsonText | None:
    """The document that a string is, if it is an object, a list or a string again."""
    if text.lstrip(" \t\r\n")[:1] not in _BEGINNINGS:
        return None
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if level > MAX_LEVELS:
        raise TooDeep
    return JsonText.read(text, _everything, level=level)


_BEGINNINGS = ("{", "[", '"')


def _everything(_: Path, __: str) -> bool:
    return True


def _decoded(literal: str) -> str:
    return cast("str", orjson.loads(literal)) if "\\" in literal else literal[1:-1]


def _digits(literal: str) -> str:
    """The digits of a whole number; empty for one that is not whole, or is too short or too long to be read."""
    if literal.isdigit():
        return literal
    try:
        number = Decimal(literal.removeprefix("-"))
    except InvalidOperation:
        return ""  # an exponent beyond all numbers
    if (
        not number
        or not _FEWEST_DIGITS <= number.adjusted() + 1 <= _MOST_DIGITS
        or number != number.to_integral_value()
    ):
        return ""
    return str(int(number))


def _literals(
    source: str, is_document: IsDocument | None, *, everywhere: bool
) -> Iterator[tuple[Path, int, int, int | None]]:
    """Every string of a valid document, names too, and every long number: its path, its place, and how much of the path
    leads to the document of its own that it is in, if it is in one.

    `everywhere`: all of it is one.
    """
    path: list[str | int] = []
    in_object: list[bool] = []
    wants_name = False
    inside = 0 if everywhere else None
    for token in _TOKEN_OR_NUMBER.finditer(source):
        start, end = token.span()
        match source[start]:
            case '"':
                if wants_name:
                    yield (*path[:-1], KEY), start, end, inside
                    path[-1] = _decoded(source[start:end])
                    wants_name = False
                else:
                    yield tuple(path), start, end, inside
            case "{" | "[" as opened:
                if inside is None and is_document and is_document(tuple(path)):
                    inside = len(path)
                wants_name = opened == "{"
                path.append("" if wants_name else 0)
                in_object.append(wants_name)
            case ",":
                wants_name = in_object[-1]
                if not wants_name:
                    path[-1] = cast("int", path[-1]) + 1
            case "}" | "]":
                path.pop()
                in_object.pop()
                wants_name = False
                if inside == len(path) and not everywhere:
                    inside = None
            case _:
                yield tuple(path), start, end, inside
