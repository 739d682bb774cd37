import subprocess
import sys
from pathlib import Path

import pytest

from appliance.locks import held


class TakenError(Exception):
    pass


def test_one_at_a_time_and_then_the_next(tmp_path: Path):
    with held(tmp_path / "lock", TakenError()):
        with pytest.raises(TakenError), held(tmp_path / "lock", TakenError()):
            pass
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    with held(tmp_path / "lock", TakenError()):
        pass


def test_it_ends_with_its_process(tmp_path: Path):
    program = (
        "import os, sys; from pathlib import Path; from appliance.locks import held\n"
        "with held(Path(sys.argv[1]), ValueError()): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, tmp_path / "lock"], check=False).returncode == -9
    with held(tmp_path / "lock", TakenError()):
        pass


def test_a_file_that_cannot_be_made(tmp_path: Path):
    with pytest.raises(FileNotFoundError), held(tmp_path / "none" / "lock", TakenError()):
        pass
