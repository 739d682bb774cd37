"""The command `synapse`: parses, calls the function of the command, and owns stdout, stderr and exit codes.

`arguments` says what can be typed, `commands` does it. Source of the exit codes: operations.md, "Commands".
"""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TextIO, cast

from appliance.arguments import parser
from appliance.commands.outcome import EVIDENCE_MISSING, FAILED, USAGE, EvidenceMissing, Outcome
from appliance.commands.registry import COMMANDS, Invocation
from appliance.errors import SynapseError

INTERRUPTED = 130
"""What a shell expects of a program that Ctrl-C ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Expected errors are one line on stderr, never a traceback."""
    try:
        typed = parser().parse_args(argv)
    except SystemExit as ending:  # argparse has said what is wrong, or shown its help
        return int(ending.code or 0)
    if not _has_outputs() and typed.command not in ("serve", "engine", "node serve"):
        _complain("There is no standard output to write to.")
        return FAILED
    try:
        outcome = COMMANDS[typed.command](Invocation(typed, os.environ, lambda: datetime.now(UTC)))
        return outcome.code if _delivered(outcome, as_json=typed.json) else FAILED
    except SynapseError as error:
        _complain(str(error))
        return _code_of(error)
    except KeyboardInterrupt:
        return INTERRUPTED


def _code_of(error: SynapseError) -> int:
    if isinstance(error, EvidenceMissing):
        return EVIDENCE_MISSING
    return USAGE if error.code == "invalid_request" else FAILED


def _delivered(outcome: Outcome, *, as_json: bool) -> bool:
    """Write the outcome; whether all of it went out."""
    try:
        _show(outcome, as_json=as_json)
    except BrokenPipeError:
        _silence_stdout()
        return False
    except OSError as error:
        _silence_stdout()
        _complain(f"The output cannot be written ({error.strerror}).")
        return False
    return True


def _show(outcome: Outcome, *, as_json: bool) -> None:
    if outcome.raw is not None:
        sys.stdout.buffer.write(outcome.raw)
        if sys.stdout.isatty():
            sys.stdout.buffer.write(b"\n")  # for the eye only: a file or a pipe gets the exact bytes
    elif outcome.stream is not None:
        for piece in outcome.stream:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
    elif as_json:
        if outcome.document is not None:
            print(json.dumps(outcome.document, indent=2))
    else:
        for line in outcome.lines:
            print(_writable(line, sys.stdout))
    sys.stdout.flush()
    for note in () if as_json else outcome.notes:
        print(_writable(note, sys.stderr), file=sys.stderr)


def _silence_stdout() -> None:
    """Python flushes stdout once more at its end, and would complain there where nobody reads any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(text: str) -> None:
    if cast("TextIO | None", sys.stderr) is not None:
        print(_writable(f"synapse: {' '.join(text.split())}", sys.stderr), file=sys.stderr)


def _writable(text: str, stream: TextIO) -> str:
    """The text with what the stream's encoding lacks as codes: a terminal in Latin-1 is no reason to fail."""
    return text.encode(stream.encoding, "backslashreplace").decode(stream.encoding)


def _has_outputs() -> bool:
    """A shell can start a program with stdout or stderr closed (`>&-`); Python then has none.

    Asked before a command does anything: a key that is made must be shown.
    """
    return None not in (cast("TextIO | None", sys.stdout), cast("TextIO | None", sys.stderr))
