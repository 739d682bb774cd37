from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from appliance.backup.last import LastBackup
from appliance.doctor import storage_checks as checks
from appliance.doctor.facts import DatabaseFacts, DiskFacts, FileFact, Problem
from appliance.doctor.finding import Finding
from tests.doctor.healthy import BACKUP, DATABASE, DIRECTORY, FILE, NOW, STATE

NONE = DatabaseFacts(there=False, newest_schema=7)


def one(found: list[Finding], state: str, said: str, advice: str = "") -> None:
    """One finding of this state, whose sentence and advice hold these words."""
    assert [finding.state for finding in found] == [state]
    assert said in found[0].said
    assert advice in found[0].advice
    assert (state == "ok") == (found[0].advice == "")


class TestStateDirectory:
    def test_well(self):
        one(checks.state_directory(STATE, "root"), "ok", "/var/lib/synapse is synapse's alone.")

    @pytest.mark.parametrize(
        ("directory", "state", "said", "advice"),
        [
            ({"mode": 0o750}, "warning", "open to others (mode 0750)", "chmod 700 /var/lib/synapse"),
            ({"mode": 0o755}, "warning", "open to others (mode 0755)", "chmod 700"),
            ({"mode": 0o770}, "failed", "open to others (mode 0770)", "chmod 700"),
            ({"mode": 0o702}, "failed", "open to others", "chmod 700"),
            ({"kind": "absent"}, "warning", "is not there", "synapse serve"),
            ({"kind": "file"}, "failed", "is no directory", "Move it away"),
            ({"kind": "hidden"}, "warning", "bob may not look into", "Run this as synapse, or as root."),
        ],
    )
    def test_who_can_get_at_it(self, directory: dict[str, Any], state: str, said: str, advice: str):
        facts = replace(STATE, directory=replace(DIRECTORY, **directory))
        one(checks.state_directory(facts, "bob"), state, said, advice)

    @pytest.mark.parametrize(
        ("file", "said", "advice"),
        [
            ({"mode": 0o644}, "open to others (mode 0644)", "chmod 600 /var/lib/synapse/synapse.db"),
            ({"uid": 0, "owner": "root"}, "belongs to root, and the directory to synapse", "chown synapse /var"),
        ],
    )
    def test_a_file_in_it(self, file: dict[str, Any], said: str, advice: str):
        one(checks.state_directory(replace(STATE, files=(replace(FILE, **file), FILE)), "root"), "failed", said, advice)

    def test_a_restore_that_was_interrupted(self):
        one(checks.state_directory(replace(STATE, unfinished=True), "root"), "warning", "interrupted", "next start")

    def test_what_restores_have_replaced(self):
        facts = replace(STATE, replaced=("replaced-T",))
        one(checks.state_directory(facts, "root"), "warning", "replaced-T", "Remove it")


class TestKeyFile:
    def test_well(self):
        one(checks.key_file(STATE, DATABASE), "ok", "opens the database's secrets")
        one(checks.key_file(replace(STATE, credential=True), DATABASE), "ok", "systemd gives it")
        one(checks.key_file(STATE, replace(DATABASE, installation=None)), "ok", "nothing is sealed with it yet")

    def test_one_that_cannot_be_used(self):
        problem = Problem("The key file is readable by others.", "Run: chmod 600 it")
        one(checks.key_file(replace(STATE, key_problem=problem), DATABASE), "failed", "readable by others", "chmod 600")

    def test_none_where_there_is_a_database(self):
        one(checks.key_file(replace(STATE, key_there=False), DATABASE), "failed", "not there", "synapse restore")

    def test_none_before_the_first_start(self):
        assert checks.key_file(replace(STATE, key_there=False), NONE) == []
        assert checks.key_file(replace(STATE, directory=FileFact("/x", "absent")), NONE) == []

    def test_that_of_another_installation(self):
        problem = Problem("The stored secret does not open with this key file.", "Put back the secret.key")
        one(checks.key_file(STATE, replace(DATABASE, sealed_problem=problem)), "failed", "does not open", "Put back")


class TestDatabase:
    @pytest.mark.parametrize(
        ("facts", "state", "said", "advice"),
        [
            ({}, "ok", "It is whole (5.0 MB, schema 7; every page and index was read).", ""),
            ({"thorough": False, "bytes": 2_500_000_000}, "ok", "(2.5 GB, schema 7; every page was read)", ""),
            ({"schema": 5}, "ok", "The next start brings it to this version", ""),
            ({"there": False}, "ok", "There is none yet.", ""),
            ({"hidden": True}, "warning", "bob may not read it", "as root"),
            ({"problem": "disk I/O error"}, "failed", "cannot be read: disk I/O error", "synapse restore FILE"),
            ({"faults": ("row 5 missing", "x")}, "failed", "It is damaged: row 5 missing.", "synapse restore FILE"),
            ({"ours": False}, "failed", "another program", "state_dir"),
            ({"schema": 8}, "failed", "has schema 8; this version knows schemas up to 7", "a newer one"),
        ],
    )
    def test_how_it_is(self, facts: dict[str, Any], state: str, said: str, advice: str):
        one(checks.database(replace(DATABASE, **facts), "bob"), state, said, advice)


class TestDisk:
    @pytest.mark.parametrize(
        ("free", "size", "state"),
        [
            (50_000_000_000, 5, "ok"),
            (1_000_000_000, 5, "ok"),
            (999_999_999, 5, "warning"),
            (100_000_000, 5, "warning"),
            (99_999_999, 5, "failed"),
            (0, 5, "failed"),
            (5_000_000_000, 5_000_000_000, "warning"),
            (5_000_000_000, 4_900_000_000, "ok"),
        ],
    )
    def test_room_for_calls_and_for_a_backup(self, free: int, size: int, state: str):
        found = checks.disk(DiskFacts(free, 100_000_000_000), replace(DATABASE, bytes=size))
        one(found, state, "of 100.0 GB are free.")

    def test_where_the_system_does_not_say(self):
        assert checks.disk(None, DATABASE) == []


class TestBackup:
    @pytest.mark.parametrize(
        ("last", "state", "said"),
        [
            (BACKUP, "ok", "The newest is of 2026-11-28 18:57Z, in /mnt/office.backup."),
            (replace(BACKUP, keys=False), "ok", "without secret.key"),
            (replace(BACKUP, created=NOW - timedelta(days=7)), "ok", "2026-11-22"),
            (replace(BACKUP, created=NOW - timedelta(days=7, seconds=1)), "warning", "7 days old"),
            (replace(BACKUP, created=NOW - timedelta(days=400)), "warning", "400 days old"),
            (replace(BACKUP, created=NOW + timedelta(hours=1)), "warning", "still to come"),
            (replace(BACKUP, installation="another"), "warning", "is another's"),
            (None, "warning", "None was ever made."),
        ],
    )
    def test_its_age(self, last: LastBackup | None, state: str, said: str):
        one(checks.backup(last, DATABASE, NOW), state, said)

    def test_with_a_broken_database_the_note_counts(self):
        one(checks.backup(BACKUP, replace(DATABASE, installation=None, problem="x"), NOW), "ok", "/mnt/office.backup")
        one(checks.backup(None, replace(DATABASE, installation=None, problem="x"), NOW), "warning", "No backup")

    def test_before_the_first_start_there_is_nothing_to_save(self):
        assert checks.backup(None, NONE, NOW) == []
