import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OWN_MOUNTS = ["unshare", "--map-root-user", "--mount"]


def test_a_full_disk_refuses_calls_before_a_model_is_asked_and_all_recovers_by_itself(tmp_path: Path):
    # metering, "Done when" 5. On a file system of its own, so that nothing else of this machine meets a full disk.
    allowed = subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, text=True)
    if allowed.returncode and "CI" not in os.environ:
        pytest.skip(f"needs a mount namespace: {allowed.stderr}")
    command = [*OWN_MOUNTS, sys.executable, "-m", "tests.gateway.full_disk", str(tmp_path)]
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (0, "all as it should be\n"), ran.stderr
