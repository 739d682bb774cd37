"""`synapse completion bash | zsh | fish`: the script for a shell, and what the script is answered at each TAB.

An answer is silent about everything that goes wrong, and never takes longer than a person waits.
"""

import re
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO, cast

from appliance.arguments import parser
from appliance.commands import completion_scripts
from appliance.commands.outcome import Outcome
from appliance.commands.shell_words import bash_word, unquoted
from appliance.completing import Place, Word, place
from appliance.errors import SynapseError
from appliance.parsing import Kind

if TYPE_CHECKING:
    from appliance.admin.names import Name

SECONDS = 0.7
"""Of an answer behind the start of Python, settings that lie on a dead disk included."""

BREAKS = "=:"
"""Where bash ends a word by itself."""

Names = Callable[[Kind, str | None], "Iterable[Name]"]
"""The names of a kind, as the daemon knows them that the settings file leads to."""


def script(shell: str, program: str) -> Outcome:
    return Outcome(raw=completion_scripts.script(shell, program).encode())


def this_program() -> str:
    """Where it lies: at a TAB the search path may lead to another program of this name."""
    return str(Path(sys.argv[0]).absolute())


def standard_input() -> bytes:
    source = cast("TextIO | None", sys.stdin)  # None where it is closed
    return b"" if source is None else source.buffer.read()


def answer(shell: str, asked: bytes, environ: Mapping[str, str]) -> Outcome:
    """What can stand at the cursor, in the form that the script of the shell reads."""
    words = asked.decode(errors="surrogateescape").removesuffix("\0").split("\0")
    if shell == "bash" and len(words) == 1:
        words *= 2  # not asked by the script, which says the piece too

    def names(kind: Kind, config: str | None) -> "Iterable[Name]":
        return known_names(kind, config, environ)

    said = ANSWERS[shell](words, names)
    return Outcome(raw="".join(f"{one}\0" for one in said).encode(errors="surrogateescape"))


def known_names(kind: Kind, config: str | None, environ: Mapping[str, str]) -> "tuple[Name, ...]":
    """Names that the daemon knows; none where it is down, may not be asked, or takes too long."""
    from appliance.admin.names import names
    from appliance.settings import load

    try:
        with _within(SECONDS):
            file = None if config is None else Path(config).expanduser()
            return names(load(file, environ).admin.socket, kind)
    except (SynapseError, OSError, RuntimeError):  # the last: a home of nobody
        return ()


def _for_bash(words: Sequence[str], names: Names) -> Iterator[str]:
    """Words as they are typed. The last one asked about is the piece of the one before it that bash replaces."""
    *before, typed, piece = words
    settled = _settled(typed)
    value, quote = unquoted(typed.removeprefix(settled))
    if quote and typed[len(settled)] != quote:
        return  # opened within a word, of which bash would replace the end alone
    there = place(parser(), before, settled + value)
    yield _what(there)
    left = settled + quote if quote else typed.removesuffix(piece) if piece.strip(BREAKS) else typed
    for one in _fitting(there, settled + value, names):
        text = bash_word(one.text, quote)
        whole = None if text is None else there.prefix + quote + text
        if whole is not None and whole.startswith(left):
            yield whole[len(left) :]


def _for_zsh(words: Sequence[str], names: Names) -> Iterator[str]:
    """Words and what they mean, in turn; without the option in front of a value, and in no quotation marks."""
    *before, typed = words
    there = place(parser(), before, typed)
    yield _what(there)
    for one in _fitting(there, typed, names):
        yield from (one.text, one.meaning)


def _for_fish(words: Sequence[str], names: Names) -> Iterator[str]:
    """Each word with its meaning behind a tab."""
    *before, typed = words
    plain, _ = unquoted(typed)
    there = place(parser(), before, plain)
    yield _what(there)
    for one in _fitting(there, plain, names):
        yield f"{there.prefix}{one.text}\t{one.meaning}"


ANSWERS: Mapping[str, Callable[[Sequence[str], Names], Iterator[str]]] = {
    "bash": _for_bash,
    "zsh": _for_zsh,
    "fish": _for_fish,
}


def _what(there: Place) -> str:
    return there.kind if there.kind in ("file", "directory") else "words"


def _settled(typed: str) -> str:
    """The option of an option and its value in one word."""
    found = re.match(r"--[a-z-]+=", typed)
    return found[0] if found else ""


def _fitting(there: Place, typed: str, names: Names) -> Iterator[Word]:
    """What goes on from what is typed. A name that begins with a dash would be taken for an option."""
    begun = typed.removeprefix(there.prefix)
    known = _named(names(there.kind, there.config), begun) if _what(there) == "words" and there.kind else ()
    for word in dict.fromkeys((*there.words, *known)):
        option = word.text.startswith("-") and word not in there.words and not there.prefix
        if word.text.startswith(begun) and word.text not in there.given and not option:
            yield word


def _named(found: "Iterable[Name]", begun: str) -> Iterator[Word]:
    """The names, and of the ids that which somebody has begun to type. What a terminal cannot show is left out."""
    for one in found:
        words = (Word(one.name, one.meaning), *([Word(one.id, one.name)] if begun else ()))
        yield from (word for word in words if word.text and (word.text + word.meaning).isprintable())


@contextmanager
def _within(seconds: float) -> Generator[None]:
    """Raises TimeoutError in what takes longer, whatever it waits for."""

    def ring(*_: object) -> NoReturn:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
