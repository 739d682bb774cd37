"""Grammars in llama.cpp's notation (GBNF), and the rules of JSON that every one of them draws on. Pure.

It must not know JSON schemas or tools. A grammar that llama.cpp cannot read is refused by it with 400, and a model
cannot leave a grammar, so what is written here holds or there is no answer. Source: llama.cpp's grammar guide, and
RFC 8259 for JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

MAX_RULES = 4096
"""Rules of one grammar; a generous schema makes a few hundred."""
MAX_CHARACTERS = 2**17
"""Characters of one grammar. llama.cpp reads as many in some 30 ms, between two tokens of everybody's answers."""
MAX_WIDTH = 512
"""Alternatives that may be open at one place of an answer. llama.cpp holds every token of the vocabulary against each
of them, 0.07 to 0.12 ms for one, in the loop that writes everybody's answers (measured, see docs/engine.md)."""
MAX_STEPS = 32_768
"""Steps of work for one grammar: schemas, words and values that are looked at. A step takes 5 to 10 microseconds."""
MAX_REPEATS = 1000
"""Times that one repetition is written for; llama.cpp knows none above 2000, and drops the bound without a word."""
MAX_FACTORS = 16
"""Groups inside groups of texts that begin alike; llama.cpp reads them by recursion."""

PRETTY_SPACE = '| " " | "\\n"{1,2} [ \\t]{0,20}'
"""Between the parts of JSON: bounded, since a small model may go on with blanks for ever."""
COMPACT_SPACE = '" "?'

_JSON = {
    "value": "object | array | string | number | boolean | null",
    "object": '"{" space (member (space "," space member)*)? space "}"',
    "member": 'string space ":" space value',
    "array": '"[" space (value (space "," space value)*)? space "]"',
    "string": '"\\"" char* "\\""',
    "char": r'[^"\\\x7F\x00-\x1F] | [\\] (["\\bfnrt] | "u" escape)',
    "escape": "[0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}",  # no half of a surrogate pair
    "number": 'integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?',
    "integer": '"-"? ("0" | [1-9] [0-9]{0,15})',
    "boolean": '"true" | "false"',
    "null": '"null"',
}
"""JSON's own rules. `space` comes from the grammar that uses them."""


_WIDTHS = {"value": 10, "object": 2, "array": 10, "number": 3, "integer": 3, "boolean": 2}
"""How many alternatives JSON's own rules have open at a place; those that are not named have one."""


class TooLarge(Exception):
    """The grammar would take more work, or be larger, than one request may ask for."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """`text` starts at its rule `root`. With a `trigger` it holds from where the answer writes the trigger."""

    text: str
    trigger: str = ""


class Rules:
    """Collects the rules of one grammar, and bounds what it costs. JSON's own rules are there from the start.

    A rule's width is how many alternatives are open at one place of it, at most. Every method raises TooLarge where a
    limit is passed.
    """

    def __init__(self, space: str) -> None:
        self._bodies = {"space": space} | _JSON
        self._widths = dict(_WIDTHS)
        self._repeats: dict[tuple[str, int, int | None], str] = {}
        self._characters = 0
        self._steps = 0

    def spend(self, steps: int) -> None:
        """Counts work, so that a small schema that means an endless amount of it ends."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise TooLarge

    def reserve(self, hint: str) -> str:
        """A name for a rule whose body is not known yet, such as one that refers to itself."""
        if len(self._bodies) >= MAX_RULES:
            raise TooLarge
        name = f"{hint}-{len(self._bodies)}"
        self._bodies[name] = ""
        return name

    def define(self, name: str, body: str, width: int = 1) -> None:
        self._characters += len(name) + len(body)
        if self._characters > MAX_CHARACTERS or width > MAX_WIDTH:
            raise TooLarge
        self._bodies[name] = body
        self._widths[name] = width

    def add(self, hint: str, body: str, width: int = 1) -> str:
        """Adds a rule and returns its name."""
        name = self.reserve(hint)
        self.define(name, body, width)
        return name

    def width(self, name: str) -> int:
        return self._widths.get(name, 1)

    def one_of(self, texts: Sequence[str]) -> str:
        """A rule for exactly these texts. What some begin with in common is written once, and open once."""
        self.spend(len(texts))
        if sum(map(len, texts)) > MAX_CHARACTERS:
            raise TooLarge
        return self.add("one-of", *_branches(sorted(set(texts)), MAX_FACTORS))

    def repeat(self, expression: str, least: int, most: int | None) -> str:
        """A rule for `expression` from `least` to `most` times. Large counts are made of blocks of `MAX_REPEATS`.

        llama.cpp dies of a `most` that is smaller than `least`.
        """
        key = (expression, least, most)
        if key not in self._repeats:
            self._repeats[key] = self.add("repeat", self._counted(*key))
        return self._repeats[key]

    def _counted(self, expression: str, least: int, most: int | None) -> str:
        if least < MAX_REPEATS and (most is None or most < MAX_REPEATS):
            self._characters += most or least  # llama.cpp makes a rule of its own for every time
            return repeated(expression, least, most)
        self._characters += 2 * MAX_REPEATS
        return self._in_blocks(expression, least, most)

    def _in_blocks(self, expression: str, least: int, most: int | None) -> str:
        block = self.add("block", repeated(expression, MAX_REPEATS, MAX_REPEATS))
        blocks, rest = divmod(least, MAX_REPEATS)
        first = f"{repeated(block, blocks, blocks)} {repeated(expression, rest, rest)}"
        if most is None:
            return f"{first} {expression}*"
        more, rest = divmod(most - least, MAX_REPEATS)
        full = f"{repeated(block, more, more)} {repeated(expression, 0, rest)}"
        if not more:
            return f"{first} {full}"
        return f"{first} ({repeated(block, 0, more - 1)} {repeated(expression, 0, MAX_REPEATS - 1)} | {full})"

    def take_back(self, mark: "Mark") -> None:
        """Forgets the rules that came after `mark`, but not the work that they took."""
        for name in list(self._bodies)[mark.rules :]:
            del self._bodies[name]
        self._characters = mark.characters
        self._repeats = {key: name for key, name in self._repeats.items() if name in self._bodies}

    def mark(self) -> "Mark":
        return Mark(len(self._bodies), self._characters)

    def grammar(self, root: str, *, trigger: str = "") -> Grammar:
        lines = [f"root ::= {root}", *(f"{name} ::= {body}" for name, body in self._bodies.items())]
        return Grammar("\n".join(lines) + "\n", trigger)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the rules of a grammar had come."""

    rules: int
    characters: int


def literal(text: str) -> str:
    """The text itself, and nothing else."""
    escaped = "".join(f"\\x{ord(each):02X}" if each < " " or each == "\x7f" else each for each in _quoted(text))
    return f'"{escaped}"'


def json_text(value: object) -> str:
    """A JSON value, written in the one way that has no blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_literal(value: object) -> str:
    return literal(json_text(value))


def repeated(expression: str, least: int, most: int | None) -> str:
    """`expression` from `least` to `most` times, in llama.cpp's notation."""
    if most is None:
        return f"{expression}*" if least == 0 else f"{expression}{{{least},}}"
    return f"{expression}{{{least},{most}}}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _branches(texts: Sequence[str], factors: int) -> tuple[str, int]:
    """The expression for these texts, which are sorted and all different, and its width."""
    groups = [list(group) for _, group in groupby(texts, lambda text: text[:1])]
    written: list[str] = []
    width = len(groups)
    for group in groups:
        head = _common_start(group[0], group[-1])
        if len(group) == 1 or not factors:
            written += map(literal, group)
            width = max(width, len(groups) + len(group) - 1)
        else:
            rest, inner = _branches([text[len(head) :] for text in group], factors - 1)
            written.append(f"{literal(head)} ({rest})")
            width = max(width, inner)
    return " | ".join(written), width


def _common_start(first: str, last: str) -> str:
    size = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return first[:size]


def json_grammar() -> Grammar:
    """Any JSON object, which is what Ollama means by `"format": "json"`."""
    return Rules(PRETTY_SPACE).grammar("object")
