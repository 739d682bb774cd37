import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.cluster.agent.state import NodeState, forget_gateway, opened
from appliance.cluster.identity import Identity
from appliance.errors import StateError

GATEWAY, OTHER = Identity.create(), Identity.create()


def look(directory: Path, *, name: str = "", pin: bytes | None = None) -> NodeState:
    with opened(directory, name=name, fallback="host") as state:
        if pin is not None:
            state.pin(pin)
        return state


def test_is_made_at_the_first_start_and_kept(tmp_path: Path):
    first = look(tmp_path / "a" / "node")
    assert first.gateway is None
    assert look(tmp_path / "a" / "node").identity == first.identity
    assert look(tmp_path / "other").identity != first.identity


def test_is_private(tmp_path: Path):
    umask = os.umask(0)
    try:
        look(tmp_path / "node", pin=GATEWAY.certificate)
    finally:
        os.umask(umask)
    assert (tmp_path / "node").stat().st_mode & 0o777 == 0o700
    files = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "node").iterdir()}
    assert files == {"identity.pem": 0o600, "gateway.der": 0o600, "name": 0o600, "lock": 0o600}


def test_keeps_its_name_until_it_gets_another(tmp_path: Path):
    assert look(tmp_path).name == "host"
    assert look(tmp_path, name="Büro 3").name == "Büro 3"
    assert look(tmp_path).name == "Büro 3"


def test_keeps_its_gateway(tmp_path: Path):
    look(tmp_path, pin=GATEWAY.certificate)
    assert look(tmp_path).gateway == GATEWAY.certificate
    assert look(tmp_path, pin=OTHER.certificate).gateway == OTHER.certificate
    assert look(tmp_path).gateway == OTHER.certificate


def test_forgets_its_gateway_and_nothing_else(tmp_path: Path):
    before = look(tmp_path, name="desk", pin=GATEWAY.certificate)
    assert forget_gateway(tmp_path) == GATEWAY.id
    assert forget_gateway(tmp_path) is None
    after = look(tmp_path)
    assert (after.gateway, after.identity, after.name) == (None, before.identity, "desk")


def test_nothing_is_made_to_be_forgotten(tmp_path: Path):
    assert forget_gateway(tmp_path / "node") is None
    assert list(tmp_path.iterdir()) == []


def test_belongs_to_one_process(tmp_path: Path):
    with opened(tmp_path, name="", fallback="host") as state:
        state.pin(GATEWAY.certificate)
        with pytest.raises(StateError, match="running"):
            look(tmp_path)
        with pytest.raises(StateError, match="running"):
            forget_gateway(tmp_path)
    assert look(tmp_path).gateway == GATEWAY.certificate


def test_a_damaged_gateway_can_be_forgotten(tmp_path: Path):
    look(tmp_path)
    (tmp_path / "gateway.der").write_bytes(GATEWAY.certificate[:100])
    with pytest.raises(StateError, match="damaged"):
        look(tmp_path)
    assert forget_gateway(tmp_path) == ""
    assert look(tmp_path).gateway is None


@pytest.mark.parametrize("content", [b"", b"garbage", GATEWAY.pem()[:400], GATEWAY.pem()[:-100]])
def test_a_damaged_key_is_not_replaced_in_silence(tmp_path: Path, content: bytes):
    look(tmp_path)
    (tmp_path / "identity.pem").write_bytes(content)
    with pytest.raises(StateError, match="damaged"):
        look(tmp_path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path):
    look(tmp_path)
    (tmp_path / "identity.pem").chmod(0o644)
    with pytest.raises(StateError, match="readable by others"):
        look(tmp_path)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="cannot be used"):
        look(tmp_path / "file" / "node")


def test_what_a_crash_left_half_written_is_no_hindrance(tmp_path: Path):
    for name in ("identity.pem.new", "gateway.der.new", "name.new"):
        (tmp_path / name).write_bytes(b"half")
    look(tmp_path, pin=GATEWAY.certificate)
    assert look(tmp_path).gateway == GATEWAY.certificate


CRASH = """
import os, pathlib, sys
from appliance.cluster.agent.state import opened
count = int(sys.argv[2])
def crash(*_):
    global count
    count -= 1
    if count == 0:
        os._exit(9)
sys.addaudithook(lambda event, _: crash() if event in ("open", "os.rename") else None)
with opened(pathlib.Path(sys.argv[1]), name="desk", fallback="") as state:
    state.pin(bytes.fromhex(sys.argv[3]))
"""


def test_a_crash_at_any_step_leaves_a_state_that_opens(tmp_path: Path):
    """A process ends without a word at each opening and each renaming of a file in turn."""
    ended = 9
    for count in range(1, 40):
        directory = tmp_path / str(count)
        run = [sys.executable, "-c", CRASH, str(directory), str(count), GATEWAY.certificate.hex()]
        ended = subprocess.run(run, cwd=Path(__file__).parents[3], check=False).returncode
        state = look(directory)
        assert state.gateway in (None, GATEWAY.certificate)
        if ended == 0:
            assert state.gateway == GATEWAY.certificate
            break
    assert ended == 0
