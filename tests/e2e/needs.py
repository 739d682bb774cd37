"""What a test needs of the machine that it runs on."""

import os
import shutil

import pytest


def need(*programs: str) -> None:
    """The absence of one skips the test here, and is a failure in CI."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing and "CI" not in os.environ:
        pytest.skip(f"needs {', '.join(missing)}")
    assert not missing
