"""The promise is tried at every step: a crash leaves the old state or the new one, whole."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from appliance.store import replacing
from appliance.store.replacing import DATABASE, KEY, LAST_BACKUP, PUBLIC_KEYS, REPLACED

OLD = {name: f"old {name}" for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", KEY, f"{DATABASE}.schema-3")}
NEW = {name: f"new {name}" for name in (DATABASE, KEY, PUBLIC_KEYS, LAST_BACKUP)}
OTHERS = {"lock": "", "node": "another's"}


class Crash(BaseException):
    """The process dies here."""


def put(directory: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (directory / name).write_text(content)


def state(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir() if path.is_file() and path.name not in OTHERS}


def replace(state_dir: Path) -> Path | None:
    put(replacing.begin(state_dir), NEW)
    return replacing.commit(state_dir, "T")


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    put(tmp_path, OLD | OTHERS)
    return tmp_path


def test_the_new_is_in_place_and_the_old_is_kept(state_dir: Path):
    replaced = replace(state_dir)
    assert replaced == state_dir / "replaced-T"
    assert (state(state_dir), state(replaced)) == (NEW, OLD)
    assert sorted(path.name for path in state_dir.iterdir()) == sorted([*NEW, *OTHERS, "replaced-T"])


def test_where_nothing_was_nothing_is_kept(tmp_path: Path):
    assert replace(tmp_path) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NEW)


def test_two_in_one_second_are_kept_apart(state_dir: Path):
    assert [replace(state_dir), replace(state_dir), replace(state_dir)] == [
        state_dir / name for name in ("replaced-T", "replaced-T-2", "replaced-T-3")
    ]
    assert state(state_dir / "replaced-T") == OLD
    assert state(state_dir / "replaced-T-3") == NEW


def test_what_was_only_collected_is_forgotten(state_dir: Path):
    put(replacing.begin(state_dir), NEW)
    put(replacing.begin(state_dir), {KEY: "later"})
    assert not replacing.decided(state_dir)
    assert replacing.finish(state_dir) is None
    assert state(state_dir) == OLD
    assert sorted(path.name for path in state_dir.iterdir()) == sorted([*OLD, *OTHERS])


def test_what_is_kept_is_its_owners_alone(state_dir: Path):
    replaced = replace(state_dir)
    assert replaced is not None
    assert replaced.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_makes_belongs_to_the_owner_of_the_directory(state_dir: Path):
    os.chown(state_dir, 12345, 12346)
    replaced = replace(state_dir)
    assert replaced is not None
    assert (replaced.stat().st_uid, replaced.stat().st_gid) == (12345, 12346)


def dying_at(step: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the process die before its change to the disk of this number; how many it was asked for."""
    made = [0]

    def counted(real: Any) -> Any:
        def change(*given: Any, **named: Any) -> Any:
            made[0] += 1
            if made[0] == step:
                raise Crash
            return real(*given, **named)

        return change

    for name in ("rename", "mkdir", "rmdir", "fsync", "unlink"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    monkeypatch.setattr(Path, "rename", counted(Path.rename))
    return made


def survived(directory: Path, step: int, work: Callable[[Path], object] = replace) -> bool:
    """Whether the work came to its end, with a crash at this step."""
    with pytest.MonkeyPatch.context() as patch:
        dying_at(step, patch)
        try:
            work(directory)
        except Crash:
            return False
    return True


def steps(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many changes a whole replacement makes."""
    directory = tmp_path_factory.mktemp("whole")
    put(directory, OLD | OTHERS)
    with pytest.MonkeyPatch.context() as patch:
        made = dying_at(0, patch)
        replace(directory)
    return made[0]


def test_a_crash_at_any_step_leaves_the_old_state_or_the_new(tmp_path_factory: pytest.TempPathFactory):
    count = steps(tmp_path_factory)
    assert count > 20
    seen: set[str] = set()
    for step in range(1, count + 1):
        directory = tmp_path_factory.mktemp("crash")
        put(directory, OLD | OTHERS)
        assert not survived(directory, step)
        decided = replacing.decided(directory)
        replacing.finish(directory)
        if state(directory) == OLD:
            seen.add("old")
            assert not decided
            assert not list(directory.glob(REPLACED))
        else:
            seen.add("new")
            assert state(directory) == NEW
            assert state(directory / "replaced-T") == OLD
        assert not list(directory.glob("restore*"))
        assert {name: (directory / name).read_text() for name in OTHERS} == OTHERS
    assert seen == {"old", "new"}


def test_a_crash_while_it_is_finished_is_finished_too(tmp_path_factory: pytest.TempPathFactory):
    count = steps(tmp_path_factory)
    for first in range(4, count + 1, 3):
        for second in range(1, count - first + 3, 2):
            directory = tmp_path_factory.mktemp("twice")
            put(directory, OLD)
            survived(directory, first)
            survived(directory, second, replacing.finish)
            replacing.finish(directory)
            assert state(directory) in (OLD, NEW)
            if state(directory) == NEW:
                assert state(directory / "replaced-T") == OLD


def test_no_database_ever_lies_beside_anothers_log_or_key(tmp_path_factory: pytest.TempPathFactory):
    """At every moment, for a program that would open what it finds."""
    for step in range(1, steps(tmp_path_factory) + 1):
        directory = tmp_path_factory.mktemp("moment")
        put(directory, OLD)
        assert not survived(directory, step)
        found = state(directory)
        if found.get(DATABASE) == NEW[DATABASE]:
            assert not {name for name, content in found.items() if content.startswith("old")}
