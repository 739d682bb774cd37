import fcntl
import os
from pathlib import Path

import pytest

from appliance.errors import StateError
from appliance.store import replacing
from appliance.store.ownership import COPY, sole_owner


def test_a_state_directory_is_made_private_and_has_one_owner(tmp_path: Path):
    state = tmp_path / "deep" / "state"
    with sole_owner(state):
        assert state.stat().st_mode & 0o777 == 0o700
        with pytest.raises(StateError, match="Another daemon"), sole_owner(state):
            pass
    with sole_owner(state):
        pass


def test_a_state_directory_that_cannot_be_made_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="SYNAPSE_STATE_DIR"), sole_owner(tmp_path / "file" / "state"):
        pass


def test_a_lock_is_given_up_with_its_process(tmp_path: Path):
    with sole_owner(tmp_path):
        pass
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_next_owner_finishes_a_restore_and_removes_what_was_left(tmp_path: Path):
    (tmp_path / "synapse.db").write_text("old")
    (tmp_path / COPY).write_text("half a copy")
    (tmp_path / "restore-T.ready").mkdir()
    (tmp_path / "restore-T.ready" / "synapse.db").write_text("new")
    with sole_owner(tmp_path):
        assert (tmp_path / "synapse.db").read_text() == "new"
        assert (tmp_path / "replaced-T" / "synapse.db").read_text() == "old"
        assert not (tmp_path / COPY).exists()


def test_nobody_else_finishes_anything(tmp_path: Path):
    with sole_owner(tmp_path):
        (tmp_path / "restore-T.ready").mkdir()
        (tmp_path / COPY).write_text("a copy that is being made")
        with pytest.raises(StateError), sole_owner(tmp_path):
            pass
        assert replacing.decided(tmp_path)
        assert (tmp_path / COPY).exists()


def test_what_cannot_be_finished_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fails(_: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(replacing, "finish", fails)
    with pytest.raises(StateError, match="Input/output error"), sole_owner(tmp_path):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_leaves_a_lock_that_the_daemons_user_can_take(tmp_path: Path):
    os.chown(tmp_path, 12345, 12345)
    with sole_owner(tmp_path):
        pass
    assert (tmp_path / "lock").stat().st_uid == 12345
