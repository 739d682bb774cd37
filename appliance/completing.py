"""What can stand where the cursor is: walks the parser along the words before it. Pure.

Knows neither the shells nor the daemon: of a name that only the daemon knows it says of what kind it is.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from appliance.parsing import Kind, Parser, Value


@dataclass(frozen=True, slots=True)
class Word:
    """Something that can be typed, and what it means, "" where there is nothing to say."""

    text: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """What can stand there: one of `words`, or a name of this `kind` that is none of `given`.

    `prefix` is what of the word is settled, such as `--mode=`. `config` is the settings file that was named before.
    """

    words: tuple[Word, ...] = ()
    kind: Kind | None = None
    given: tuple[str, ...] = ()
    prefix: str = ""
    config: str | None = None


NOWHERE = Place()


def place(top: Parser, before: Sequence[str], typed: str) -> Place:
    """Where the cursor is after `before`, the whole words behind the program's name, in a word that begins with
    `typed`. Where the words make no sense, nothing can follow."""
    walk = _Walk(top)
    for word in before:
        if not walk.step(word):
            return NOWHERE
    return walk.end(typed)


class _Walk:
    """Reads words as argparse does."""

    def __init__(self, top: Parser) -> None:
        self._parser = top
        self._open = _arguments(top)
        self._value_of: argparse.Action | None = None
        self._used: set[str] = set()
        self._given: list[str] = []
        self._only_arguments = False
        self._config: str | None = None

    def step(self, word: str) -> bool:
        """One word on; whether it can stand there."""
        if self._value_of is not None:
            self._keep(self._value_of, word)
            self._value_of = None
        elif word == "--" and not self._only_arguments:
            self._only_arguments = True
        elif self._is_option(word):
            return self._option(word)
        else:
            return self._argument(word)
        return True

    def end(self, typed: str) -> Place:
        if self._value_of is not None:
            return self._value(self._value_of)
        if typed.startswith("-") and not self._only_arguments:
            name, equals, _ = typed.partition("=")
            action = self._named(name)
            if not equals:
                return self._options()
            return self._value(action, prefix=f"{name}=") if action is not None and _takes_value(action) else NOWHERE
        if self._open:
            return self._value(self._open[0])
        return NOWHERE if self._only_arguments else self._options()

    def _is_option(self, word: str) -> bool:
        return word.startswith("-") and word != "-" and not self._only_arguments

    def _named(self, name: str) -> argparse.Action | None:
        return next((one for one in self._parser.actions if name in one.option_strings), None)

    def _option(self, word: str) -> bool:
        name, equals, value = word.partition("=")
        action = self._named(name)
        if action is None:
            return False
        if not _repeats(action):
            self._used |= {one.dest for one in (action, *self._parser.rivals(action))}
        if equals:
            self._keep(action, value)
        elif _takes_value(action):
            self._value_of = action
        return True

    def _keep(self, action: argparse.Action, value: str) -> None:
        if action.dest == "config":
            self._config = value

    def _argument(self, word: str) -> bool:
        if not self._open:
            return False
        action = self._open[0]
        if (inner := _groups(action)) is not None:
            if word not in inner:
                return False
            self._parser = inner[word]
            self._open = _arguments(self._parser)
            return True
        self._given.append(word)
        if action.nargs != "+":
            self._open = self._open[1:]
            self._given = []
        return True

    def _options(self) -> Place:
        shown = (one for one in self._parser.actions if one.option_strings and one.help != argparse.SUPPRESS)
        unused = (one for one in shown if one.dest not in self._used)
        return Place(tuple(Word(max(one.option_strings, key=len), one.help or "") for one in unused))

    def _value(self, action: argparse.Action, prefix: str = "") -> Place:
        shown = action.metavar
        value = shown if isinstance(shown, Value) else Value("")
        words = (*(Word(word) for word in value.words), *_choices(action))
        return Place(words, value.kind, tuple(self._given), prefix, self._config)


def _arguments(of: Parser) -> list[argparse.Action]:
    return [action for action in of.actions if not action.option_strings and action.help != argparse.SUPPRESS]


def _groups(action: argparse.Action) -> Mapping[str, Parser] | None:
    """The commands that an argument stands for, None where it is any other."""
    choices = cast("Any", action.choices)
    return cast("Mapping[str, Parser]", choices) if isinstance(choices, Mapping) else None


def _choices(action: argparse.Action) -> Iterator[Word]:
    if (groups := _groups(action)) is not None:
        for name, inner in groups.items():
            yield Word(name, inner.description or "")
    else:
        for choice in action.choices or ():
            yield Word(str(choice))


def _takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0


def _repeats(action: argparse.Action) -> bool:
    """Whether it may be given again: argparse has no public name for such an action, but their default is a list."""
    return isinstance(action.default, list)
