"""The parser of the command line without its commands: how one is added, what a value is, and how a mistake is told.

Imports nothing of ours, so that every module of arguments can build on it.
"""

import argparse
import difflib
from collections.abc import Callable
from typing import Any, Literal, NoReturn, Self

WRONG_USAGE = 2

Kind = Literal[
    "file",
    "directory",
    "key",
    "working key",
    "workspace",
    "user",
    "model",
    "provider",
    "lane",
    "node",
    "newcomer",
    "candidate",
    "serving node",
    "draining node",
    "removable node",
    "certificate",
]
"""What a value names. A `lane` is a provider or the office's own machines; a `newcomer` can be admitted, and a
`candidate` rejected."""


class Value(str):
    """A value as help shows it (argparse: `metavar`), which also says what can stand there, for completion: a name of
    this kind, or one of these words."""

    kind: Kind | None
    words: tuple[str, ...]

    def __new__(cls, shown: str, kind: Kind | None = None, *, words: tuple[str, ...] = ()) -> Self:
        made = super().__new__(cls, shown)
        made.kind, made.words = kind, words
        return made


FILE = Value("FILE", "file")
DIRECTORY = Value("DIR", "directory")
WORKSPACE = Value("W", "workspace")
USER = Value("U", "user")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the nearest known word and where to read on."""

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_abbrev=False, **given)

    @property
    def actions(self) -> tuple[argparse.Action, ...]:
        """Every option and argument, in the order of the help, hidden ones too."""
        return tuple(self._actions)

    def rivals(self, action: argparse.Action) -> tuple[argparse.Action, ...]:
        """Those that cannot be given beside this one."""
        # argparse tells nobody else which options exclude each other.
        groups = [one._group_actions for one in self._mutually_exclusive_groups]  # pyright: ignore[reportPrivateUsage]
        return tuple(one for group in groups if action in group for one in group if one is not action)

    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else "."
        self.exit(WRONG_USAGE, f"{self.prog}: {message}{end} Try: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(known)}"
            raise argparse.ArgumentError(action, f'there is no "{value}"; {hint}')


class Refused(argparse.Action):
    """An option that is natural to try and is not there: says why, and never what was given."""

    def __init__(self, *, message: str, **given: Any) -> None:
        super().__init__(**given, nargs="?", help=argparse.SUPPRESS)
        self._message = message

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        parser.error(self._message)


def group_of(of: Parser) -> Any:
    return of.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)


def command(group: Any, name: str, purpose: str, *, leaf: bool = True) -> Parser:
    made: Parser = group.add_parser(name.split()[-1], help=purpose, description=purpose, parents=[common_options()])
    if leaf:
        made.set_defaults(command=name)
    return made


def common_options() -> argparse.ArgumentParser:
    """The options that go anywhere. Absent ones are suppressed, so that a command does not undo what came before it."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--config", metavar=FILE, help="the settings file (see docs/settings.md)")
    common.add_argument("--json", action="store_true", help="print one JSON document")
    return common


def read(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A type for argparse that hands the parser's own sentence on."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f'"{text}" is not {error}') from error

    return convert
