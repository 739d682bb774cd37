"""The commands `backup`, `restore`, `doctor` and `completion`, and how each is called with what was typed.

A part of `registry`, and like it imports what a command needs when it is called.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from appliance.commands.invocation import Invocation
from appliance.commands.outcome import Outcome


def _backup(call: Invocation) -> Outcome:
    from appliance.commands import backups

    typed = call.typed
    given = backups.Given(typed.passphrase_file, typed.passphrase_stdin)
    return backups.make(call.settings(), call.environ, call.clock, Path(typed.file), given, keys=not typed.without_keys)


def _restore(call: Invocation) -> Outcome:
    from appliance.commands import backups

    typed = call.typed
    given = backups.Given(typed.passphrase_file, typed.passphrase_stdin)
    return backups.restore(call.settings(), call.environ, call.clock, Path(typed.file), given)


def _doctor(call: Invocation) -> Outcome:
    import asyncio

    from appliance.commands import doctor

    return asyncio.run(doctor.run(call, online=call.typed.online))


def _completion(call: Invocation) -> Outcome:
    from appliance.commands import completion

    if call.typed.answer:
        return completion.answer(call.typed.shell, completion.standard_input(), call.environ)
    return completion.script(call.typed.shell, call.typed.program or completion.this_program())


UPKEEP_COMMANDS: Mapping[str, Callable[[Invocation], Outcome]] = {
    "backup": _backup,
    "restore": _restore,
    "doctor": _doctor,
    "completion": _completion,
}
