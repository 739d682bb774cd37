"""What can be typed after `synapse backup`, `restore`, `doctor` and `completion`. As in `arguments`.

Source: operations.md, "Commands".
"""

import argparse
from typing import Any

from appliance.parsing import FILE, Refused, Value, command

SHELLS = ("bash", "zsh", "fish")

_NO_PASSPHRASE = (
    "a passphrase does not go on the command line, where others see it and the shell keeps it; use --passphrase-file"
    " or --passphrase-stdin"
)


def add_to(commands: Any) -> None:
    backup = command(
        commands,
        "backup",
        "Write everything into one new file, encrypted under a passphrase; the daemon may run, or be stopped.",
    )
    backup.add_argument("file", metavar=FILE, help="the file to make; best on another disk, or another machine")
    _passphrase(backup)
    backup.add_argument(
        "--without-keys",
        action="store_true",
        help="leave secret.key out: it can then be restored only where that very file is",
    )
    restore = command(
        commands,
        "restore",
        "Put what a backup holds in the place of what is there, which is kept beside it. The daemon must be stopped.",
    )
    restore.add_argument("file", metavar=FILE, help="a backup")
    _passphrase(restore)
    doctor = command(
        commands, "doctor", "Check everything, and say what to do about what is wrong. Exit code 1: a check failed."
    )
    doctor.add_argument(
        "--online", action="store_true", help="make a trial call to each external provider too, which may cost a little"
    )
    _completion(commands)


def _completion(commands: Any) -> None:
    completion = command(commands, "completion", "Write the script by which a shell completes what is typed (TAB).")
    completion.add_argument("shell", choices=SHELLS, metavar="|".join(SHELLS), help="the shell")
    completion.add_argument(
        "--program", metavar=Value("PATH", "file"), help="the program that the script asks at each TAB (this one)"
    )
    # What that script calls: the words so far come on standard input, each ended by a zero byte.
    completion.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)


def _passphrase(of: Any) -> None:
    given = of.add_mutually_exclusive_group()
    given.add_argument("--passphrase-file", metavar=FILE, help="the file that holds the passphrase")
    given.add_argument(
        "--passphrase-stdin", action="store_true", help="read the passphrase from standard input (asked at a terminal)"
    )
    of.add_argument("--passphrase", "--password", action=Refused, message=_NO_PASSPHRASE)
