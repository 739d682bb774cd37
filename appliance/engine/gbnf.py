"""Grammars in llama.cpp's notation (GBNF), and the rules of JSON that every one of them draws on. Pure.

It must not know JSON schemas or tools. A grammar that llama.cpp cannot read is refused by it with 400, and a model
cannot leave a grammar, so what is written here holds or there is no answer. Source: llama.cpp's grammar guide, and
RFC 8259 for JSON.
"""

import json
from dataclasses import dataclass

MAX_RULES = 4096
"""Rules of one grammar; a generous schema makes a few hundred."""

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


class TooLarge(Exception):
    """The grammar would have more than `MAX_RULES` rules."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """`text` starts at its rule `root`. With a `trigger` it holds from where the answer writes the trigger."""

    text: str
    trigger: str = ""


class Rules:
    """Collects the rules of one grammar. JSON's own rules are there from the start."""

    def __init__(self, space: str) -> None:
        self._bodies = {"space": space} | _JSON

    def reserve(self, hint: str) -> str:
        """A name for a rule whose body is not known yet, such as one that refers to itself. Raises TooLarge."""
        if len(self._bodies) >= MAX_RULES:
            raise TooLarge
        name = f"{hint}-{len(self._bodies)}"
        self._bodies[name] = ""
        return name

    def define(self, name: str, body: str) -> None:
        self._bodies[name] = body

    def add(self, hint: str, body: str) -> str:
        """Adds a rule and returns its name. Raises TooLarge."""
        name = self.reserve(hint)
        self.define(name, body)
        return name

    def grammar(self, root: str, *, trigger: str = "") -> Grammar:
        lines = [f"root ::= {root}", *(f"{name} ::= {body}" for name, body in self._bodies.items())]
        return Grammar("\n".join(lines) + "\n", trigger)


def literal(text: str) -> str:
    """The text itself, and nothing else."""
    escaped = "".join(f"\\x{ord(each):02X}" if each < " " or each == "\x7f" else each for each in _quoted(text))
    return f'"{escaped}"'


def json_literal(value: object) -> str:
    """A JSON value, written in the one way that has no blanks."""
    return literal(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def repeated(expression: str, least: int, most: int | None) -> str:
    """`expression` from `least` to `most` times; llama.cpp dies of a `most` that is smaller than `least`."""
    if most is None:
        return f"{expression}*" if least == 0 else f"{expression}{{{least},}}"
    return f"{expression}{{{least},{most}}}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def json_grammar() -> Grammar:
    """Any JSON object, which is what Ollama means by `"format": "json"`."""
    return Rules(PRETTY_SPACE).grammar("object")
