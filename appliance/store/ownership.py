"""One process at a time owns a state directory: two daemons on one database would both hand out log indexes.

Whoever comes to own it first finishes a restore that was interrupted, and removes what a dead process left behind.
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from appliance.errors import StateError
from appliance.locks import held
from appliance.store import replacing

LOCK = "lock"

COPY = "backup.part"
"""The copy of the database of which a backup is made: it has this name for minutes, or until the next owner comes."""


@contextmanager
def sole_owner(state_dir: Path) -> Generator[None]:
    """Make the state directory where there is none, and hold its lock.

    Raises:
        StateError: it cannot be used, or another process owns it.
    """
    taken = StateError(
        f"Another daemon uses the state directory {state_dir}.",
        advice="Stop it first, or set SYNAPSE_STATE_DIR to another directory.",
    )
    with ExitStack() as stack:
        try:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(held(state_dir / LOCK, taken))
            replacing.keep_owner(state_dir / LOCK, state_dir)
            replacing.finish(state_dir)
            (state_dir / COPY).unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(state_dir, error) from error
        yield


def _unusable(state_dir: Path, error: OSError) -> StateError:
    return StateError(
        f"The state directory {state_dir} cannot be used ({error.strerror}).",
        advice="Set SYNAPSE_STATE_DIR to a directory that this user may write to.",
    )
