"""Reads the part of llama.cpp's grammar notation that the engine writes: makes sentences of it, and recognises them.

Written from llama.cpp's grammar guide and not from the engine's code, so that each can be wrong alone.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Node = tuple[Any, ...]
"""`("text", str)`, `("class", negated, ranges)`, `("rule", name)`, `("all", nodes)`, `("any", nodes)`,
`("many", node, least, most)`."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*")|(?P<cls>\[(?:\\.|[^\]\\])*\])|(?P<name>[a-z][a-z0-9-]*)"""
    r"""|(?P<times>\{\d+(?:,\d*)?\})|(?P<sign>[()|*+?]))"""
)
_ENDLESS = 4
"""How often a sentence repeats what may be repeated without end."""


def _unescaped(text: str) -> str:
    plain = {"n": "\n", "t": "\t", "r": "\r"}

    def one(match: re.Match[str]) -> str:
        body = match.group(1)
        return chr(int(body[1:], 16)) if body[0] == "x" and len(body) > 1 else plain.get(body, body)

    return re.sub(r"\\(x[0-9A-Fa-f]{2}|.)", one, text)


class _Parser:
    def __init__(self, body: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while body[at:].strip():
            match = _TOKEN.match(body, at)
            assert match, f"not read: {body[at : at + 40]!r}"
            self.tokens.append((match.lastgroup or "", match.group(match.lastgroup or "")))
            at = match.end()

    def alternatives(self) -> Node:
        options = [self.sequence()]
        while self.tokens and self.tokens[0] == ("sign", "|"):
            self.tokens.pop(0)
            options.append(self.sequence())
        return options[0] if len(options) == 1 else ("any", options)

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.tokens and self.tokens[0] not in (("sign", "|"), ("sign", ")")):
            parts.append(self.item())
        return ("all", parts)

    def item(self) -> Node:
        kind, value = self.tokens.pop(0)
        if kind == "text":
            node: Node = ("text", _unescaped(value[1:-1]))
        elif kind == "cls":
            node = _class(value[1:-1])
        elif kind == "name":
            node = ("rule", value)
        else:
            assert value == "(", value
            node = self.alternatives()
            assert self.tokens.pop(0) == ("sign", ")")
        if self.tokens and (self.tokens[0][0] == "times" or self.tokens[0][1] in ("*", "+", "?")):
            node = ("many", node, *_times(self.tokens.pop(0)[1]))
        return node


def _times(sign: str) -> tuple[int, int | None]:
    if sign in "*+?":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
    least, comma, most = sign[1:-1].partition(",")
    bounds = int(least), (int(most) if most else None) if comma else int(least)
    assert bounds[1] is None or bounds[0] <= bounds[1], "llama.cpp would die of it"
    return bounds


def _class(body: str) -> Node:
    negated = body.startswith("^")
    parts = re.findall(r"\\x[0-9A-Fa-f]{2}|\\.|.", body[negated:], re.DOTALL)
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(parts):
        first = _unescaped(parts[at])
        if at + 2 < len(parts) and parts[at + 1] == "-":
            ranges.append((first, _unescaped(parts[at + 2])))
            at += 3
        else:
            ranges.append((first, first))
            at += 1
    return ("class", negated, ranges)


@dataclass
class Reader:
    """One grammar. Every rule that is named must be there."""

    text: str
    _memo: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    @cached_property
    def rules(self) -> dict[str, Node]:
        rules: dict[str, Node] = {}
        for line in self.text.removesuffix("\n").split("\n"):
            name, _, body = line.partition(" ::= ")
            assert name not in rules, f"{name} is there twice"
            parser = _Parser(body)
            rules[name] = parser.alternatives()
            assert not parser.tokens, line
        return rules

    def sentence(self, chance: random.Random, depth: int = 0, node: Node = ("rule", "root")) -> str:
        """A sentence by chance; deep inside, it takes what ends the soonest."""
        match node:
            case ("text", text):
                return text
            case ("class", negated, ranges):
                letters = "".join(chr(code) for a, z in ranges for code in range(ord(a), ord(z) + 1))
                return chance.choice([c for c in 'a"\\é7' if c not in letters] if negated else letters)
            case ("rule", name):
                return self.sentence(chance, depth + 1, self.rules[name])
            case ("all", parts):
                return "".join(self.sentence(chance, depth, part) for part in parts)
            case ("any", parts):
                choice = min(parts, key=lambda part: self._cost(part, 8)) if depth > 12 else chance.choice(parts)
                return self.sentence(chance, depth, choice)
            case (_, part, least, most):
                top = least if depth > 12 else (most if most is not None else least + _ENDLESS)
                count = chance.choice([least, top, chance.randint(least, top)])
                return "".join(self.sentence(chance, depth, part) for _ in range(count))
            case _:
                raise AssertionError(node)

    def accepts(self, text: str) -> bool:
        self._memo.clear()
        return len(text) in self._ends(("rule", "root"), text, 0)

    def _cost(self, node: Node, depth: int) -> int:
        """How many rules a short sentence goes through at least, looked at so deep."""
        match node:
            case ("rule", name):
                return 1000 if depth == 0 else 1 + self._cost(self.rules[name], depth - 1)
            case ("all", parts):
                return sum(self._cost(part, depth) for part in parts)
            case ("any", parts):
                return min(self._cost(part, depth) for part in parts)
            case ("many", part, least, _):
                return least * self._cost(part, depth)
            case _:
                return 0

    def _ends(self, node: Node, text: str, at: int) -> frozenset[int]:
        """Where the node can end in `text` if it begins at `at`."""
        match node:
            case ("text", word):
                return frozenset({at + len(word)} if text.startswith(word, at) else ())
            case ("class", negated, ranges):
                inside = at < len(text) and any(a <= text[at] <= z for a, z in ranges)
                return frozenset({at + 1} if at < len(text) and inside != negated else ())
            case ("rule", name):
                key = (hash(name), at)
                if key not in self._memo:
                    self._memo[key] = self._ends(self.rules[name], text, at)
                return self._memo[key]
            case ("all", parts):
                ends = {at}
                for part in parts:
                    ends = {end for start in ends for end in self._ends(part, text, start)}
                return frozenset(ends)
            case ("any", parts):
                return frozenset(end for part in parts for end in self._ends(part, text, at))
            case (_, part, least, most):
                return frozenset(self._repeats(part, text, at, least, most))
            case _:
                raise AssertionError(node)

    def _repeats(self, part: Node, text: str, at: int, least: int, most: int | None) -> Iterator[int]:
        ends, seen, count = {at}, set[int](), 0
        while ends:
            if count >= least:
                yield from ends
                seen |= ends
            if count == most:
                return
            ends = {end for start in ends for end in self._ends(part, text, start)} - (
                seen if count >= least else set()
            )
            count += 1
