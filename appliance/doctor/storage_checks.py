"""Checks of what is kept: state directory, key file, database, disk space and backups. Pure."""

from datetime import datetime, timedelta

from appliance.backup.last import LastBackup
from appliance.backup.making import SPARE
from appliance.doctor.facts import DatabaseFacts, DiskFacts, FileFact, StateFacts
from appliance.doctor.finding import Finding, failed, ok, warning

MB, GB = 1_000_000, 1_000_000_000

LEAST_FREE = 100 * MB
"""Below it calls are soon refused, since none may go unrecorded."""

FEW_FREE = GB

OLD = timedelta(days=7)

_DIRECTORY, _KEY, _DATABASE = "state directory", "key file", "database"


def state_directory(facts: StateFacts, user: str) -> list[Finding]:
    """Who can get at it, and whether its owner can."""
    directory = facts.directory
    where = directory.path
    if directory.kind == "absent":
        said = f"{where} is not there."
        return [warning(_DIRECTORY, said, "The first start makes it: synapse serve. Else name the right one.")]
    if directory.kind == "hidden":
        return [warning(_DIRECTORY, f"{user} may not look into {where}.", _as_owner(directory))]
    if directory.kind != "directory":
        return [failed(_DIRECTORY, f"{where} is no directory.", "Move it away, or set state_dir to another.")]
    found: list[Finding] = []
    if directory.mode & 0o077:
        said = f"{where} is open to others (mode {directory.mode:04o})."
        state = failed if directory.mode & 0o022 else warning
        found.append(state(_DIRECTORY, said, f"Run: chmod 700 {where}"))
    found += [_strange_file(file, directory) for file in facts.files if _is_strange(file, directory)]
    if facts.unfinished:
        advice = "The next start of the daemon, or the next restore, finishes it."
        found.append(warning(_DIRECTORY, "A restore was interrupted.", advice))
    if facts.replaced:
        said = f"It keeps what restores have replaced: {', '.join(facts.replaced)}."
        advice = "Remove it when you need it no more: it holds keys, and what was erased since."
        found.append(warning(_DIRECTORY, said, advice))
    return found or [ok(_DIRECTORY, f"{where} is {directory.owner}'s alone.")]


def key_file(facts: StateFacts, database: DatabaseFacts) -> list[Finding]:
    """The key that opens what is sealed in the database."""
    if facts.directory.kind != "directory":
        return []
    if facts.key_problem is not None:
        return [failed(_KEY, facts.key_problem.said, facts.key_problem.advice)]
    if not facts.key_there:
        if not database.there:
            return []
        advice = "Put back the secret.key of this database, from a backup: synapse restore FILE. Do not start before."
        return [failed(_KEY, "secret.key is not there, and the database cannot be used without it.", advice)]
    if database.sealed_problem is not None:
        return [failed(_KEY, database.sealed_problem.said, database.sealed_problem.advice)]
    if database.installation is None:
        return [ok(_KEY, "It is there, and nothing is sealed with it yet.")]
    where = "systemd gives it (a credential)" if facts.credential else "secret.key is its owner's alone"
    return [ok(_KEY, f"{where}, and it opens the database's secrets.")]


def database(facts: DatabaseFacts, user: str) -> list[Finding]:
    """Whether it is whole, ours, and of a form that this version knows."""
    if not facts.there:
        return [ok(_DATABASE, "There is none yet.")]
    if facts.hidden:
        return [warning(_DATABASE, f"It was not checked: {user} may not read it.", "Run this as root or its owner.")]
    restore = "Stop the daemon, and restore the newest good backup: synapse restore FILE."
    if facts.problem is not None:
        return [failed(_DATABASE, f"It cannot be read: {facts.problem}.", restore)]
    if not facts.ours:
        advice = "Set state_dir to a directory of its own."
        return [failed(_DATABASE, "The file belongs to another program.", advice)]
    if facts.schema > facts.newest_schema:
        said = f"It has schema {facts.schema}; this version knows schemas up to {facts.newest_schema}."
        return [failed(_DATABASE, said, "Install the version of Synapse that wrote it, or a newer one.")]
    if facts.faults:
        return [failed(_DATABASE, f"It is damaged: {facts.faults[0]}.", restore)]
    how = "every page and index was read" if facts.thorough else "every page was read"
    said = f"It is whole ({_size(facts.bytes)}, schema {facts.schema}; {how})."
    if facts.schema < facts.newest_schema:
        said += " The next start brings it to this version, and keeps a copy."
    return [ok(_DATABASE, said)]


def disk(facts: DiskFacts | None, database: DatabaseFacts) -> list[Finding]:
    """Room for calls, and for the copy that a backup needs."""
    if facts is None:
        return []
    said = f"{_size(facts.free)} of {_size(facts.total)} are free."
    if facts.free < LEAST_FREE:
        return [
            failed("disk space", said, "Free some: calls are refused when none is left, since none goes unrecorded.")
        ]
    if facts.free < max(FEW_FREE, database.bytes + SPARE):
        return [warning("disk space", said, "Free some: a backup needs room for a copy of the database.")]
    return [ok("disk space", said)]


def backup(last: LastBackup | None, database: DatabaseFacts, now: datetime) -> list[Finding]:
    """Whether there is one that would help."""
    make = "Make one: synapse backup FILE, on another disk."
    if database.installation is None and last is None:
        return [] if not database.there else [warning("backup", "No backup is known of.", make)]
    if last is None:
        return [warning("backup", "None was ever made.", make)]
    if database.installation is not None and last.installation != database.installation:
        return [warning("backup", "None was made of this installation; the note of one is another's.", make)]
    age = now - last.created
    when = f"The newest is of {last.created:%Y-%m-%d %H:%M}Z, in {last.file}"
    if age < timedelta(minutes=-5):
        return [warning("backup", f"{when}: that is still to come.", "Look at the clock of this machine.")]
    if age > OLD:
        return [warning("backup", f"{when}: {age.days} days old.", make)]
    keys = "" if last.keys else " It is without secret.key, which has to be kept too."
    return [ok("backup", f"{when}.{keys}")]


def _is_strange(file: FileFact, directory: FileFact) -> bool:
    return file.kind == "file" and (bool(file.mode & 0o077) or file.uid != directory.uid)


def _strange_file(file: FileFact, directory: FileFact) -> Finding:
    if file.uid != directory.uid:
        said = f"{file.path} belongs to {file.owner}, and the directory to {directory.owner}."
        return failed(_DIRECTORY, said, f"Run: chown {directory.owner} {file.path}")
    said = f"{file.path} is open to others (mode {file.mode:04o})."
    return failed(_DIRECTORY, said, f"Run: chmod 600 {file.path}")


def _as_owner(directory: FileFact) -> str:
    return f"Run this as {directory.owner}, or as root." if directory.owner else "Run this as root."


def _size(count: int) -> str:
    return f"{count / GB:.1f} GB" if count >= GB else f"{count / MB:.1f} MB"
