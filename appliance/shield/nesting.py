"""How deep in JSON an answer's text stands, where strings of a JSON document may hold JSON documents again.

`{"payload": "{\\"to\\": \\"…` is two deep at its end. Whether a string is such a document is told by its beginning:
`{` or `[`, and from there on nothing that JSON does not allow outside of strings. A string that merely quotes
somebody (`"she said \\"…`) is not; one that begins like a document and goes on otherwise is taken for one until then,
since what was sent cannot be called back. Must not know tokens. Source: RFC 8259.
"""

import re

DEEPEST = 8
"""Levels that are told apart: at the eighth, each quote has 127 backslashes before it."""

_PLAIN = re.compile(r'[^"\\]+')
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[^u])", re.DOTALL)
_LONGEST_ESCAPE = len("\\u0000")
_STRUCTURE = re.compile(r"[\s,:0-9eE+\-.]+|true|false|null|[{}\[\]]")
_UNFINISHED = re.compile(r"(?:t|tr|tru|f|fa|fal|fals|n|nu|nul)\Z")
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Nesting:
    """Reads an answer in order; `depth` (at least 1) as in `restore`."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._unread: list[str] = []
        self._layers = [_Text() for _ in range(depth - 1)]
        self._document = _Document(depth)

    def read(self, text: str) -> None:
        """More of the answer. It is looked at when somebody asks."""
        self._unread.append(text)

    def depth(self) -> int:
        """How many times a value has to be escaped that is put where what was read ends."""
        text = "".join(self._unread)
        self._unread.clear()
        for layer in self._layers:
            text = layer.decoded(text)
        self._document.read(text)
        return max(self._depth, self._document.depth())


class _Text:
    """The inside of a JSON string, as it comes."""

    def __init__(self) -> None:
        self._rest = ""

    def decoded(self, text: str) -> str:
        text = self._rest + text
        begun = text.rfind("\\", max(0, len(text) - _LONGEST_ESCAPE))
        parts: list[str] = []
        at = 0
        for escape in _ESCAPE.finditer(text):
            parts += (text[at : escape.start()], _shown(escape[0]))
            at = escape.end()
        whole = len(text) if begun < at else begun
        self._rest = text[whole:]
        return "".join([*parts, text[at:whole]])


class _Document:
    """A text that is a JSON document as far as can be told; `level` is the depth of its strings."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._alive = level <= DEEPEST
        self._begun = False
        self._brackets = 0
        self._in_string = False
        self._rest = ""
        self._inner: _Document | None = None

    def depth(self) -> int:
        """The depth at the end of what was read; 0 if that is in no string, or this is no document."""
        if not (self._alive and self._in_string):
            return 0
        return max(self._level, self._inner.depth() if self._inner is not None else 0)

    def read(self, text: str) -> None:
        if not self._alive:
            return
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text) and self._alive:
            at = self._string(text, at) if self._in_string else self._structure(text, at)

    def _string(self, text: str, at: int) -> int:
        if text[at] == '"':
            self._in_string = False
            self._inner = None
            return at + 1
        if (plain := _PLAIN.match(text, at)) is not None:
            self._into(plain[0])
            return plain.end()
        if (escape := _ESCAPE.match(text, at)) is not None:
            self._into(_shown(escape[0]))
            return escape.end()
        if len(text) - at < _LONGEST_ESCAPE:
            self._rest = text[at:]
        else:
            self._alive = False
        return len(text)

    def _into(self, text: str) -> None:
        if self._inner is None:
            self._inner = _Document(self._level + 1)
        self._inner.read(text)

    def _structure(self, text: str, at: int) -> int:
        if text[at] == '"' and (self._brackets or not (self._begun or self._level > 1)):
            self._begun = self._in_string = True
            return at + 1
        found = _STRUCTURE.match(text, at)
        if found is None:
            self._alive = self._brackets > 0 and _UNFINISHED.match(text, at) is not None
            self._rest = text[at:]
            return len(text)
        self._count(found[0])
        return found.end()

    def _count(self, sign: str) -> None:
        if sign in "{[":
            self._alive = self._brackets > 0 or not self._begun
            self._begun = True
            self._brackets += 1
        elif not self._brackets:
            self._alive = sign.isspace()
        elif sign in "}]":
            self._brackets -= 1


def _shown(escape: str) -> str:
    sign = escape[1]
    return chr(int(escape[2:], 16)) if sign == "u" else _MEANT.get(sign, sign)
