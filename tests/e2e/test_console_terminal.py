"""The console in a real terminal: what it writes there, what it leaves behind, and a daemon that dies under it."""

import signal
from collections.abc import Iterator

import pytest

from tests.e2e.installation import Installation
from tests.e2e.terminal import Terminal

START_BYTES = 100_000
ROW_BYTES = 1_000
QUIET_SECONDS = 6
"""Longer than the daemon's own sign of life, and than every interval at which it looks."""

LEAVES_ALTERNATE_SCREEN, SHOWS_CURSOR = b"\x1b[?1049l", b"\x1b[?25h"


@pytest.fixture
def terminal(installation: Installation) -> Iterator[Terminal]:
    opened = Terminal([str(installation.program), "admin"], installation.environ)
    yield opened
    opened.close()


def test_it_starts_small_and_says_nothing_while_nothing_happens(terminal: Terminal):
    terminal.until("live")
    terminal.read(2)
    assert b"What to do next" in terminal.wrote
    assert len(terminal.wrote) < START_BYTES
    assert terminal.read(QUIET_SECONDS) == b""


def test_a_changed_row_is_all_that_is_sent(terminal: Terminal, installation: Installation):
    """Textual paints a list once more with the first change after its page was opened: the second one is measured."""
    first, second = (installation.json("key", "create", "--name", name)["key"]["id"] for name in ("zzz2", "zzz1"))
    terminal.until("live")
    terminal.type("5")
    terminal.until("zzz2")
    terminal.read(1)
    wrote = b""
    for key in (first, second):  # each stays in its line
        installation.command("key", "revoke", key)
        wrote = terminal.until("revoked") + terminal.read(1)
    assert len(wrote) < ROW_BYTES, wrote


def test_the_terminal_is_whole_afterwards(terminal: Terminal):
    terminal.until("live")
    assert terminal.settings() != terminal.before
    terminal.type("q")
    terminal.until(SHOWS_CURSOR.decode())
    assert terminal.process.wait(10) == 0
    assert terminal.settings() == terminal.before
    assert LEAVES_ALTERNATE_SCREEN in terminal.wrote


def test_it_ends_with_its_terminal_and_does_not_ask_it_again_and_again(installation: Installation):
    terminal = Terminal([str(installation.program), "admin"], installation.environ)
    terminal.until("live")
    terminal.hang_up()
    assert terminal.process.wait(10) == -signal.SIGHUP


def test_it_leaves_the_terminal_whole_when_it_is_ended(terminal: Terminal):
    terminal.until("live")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.until(SHOWS_CURSOR.decode())
    assert terminal.process.wait(10) == 128 + signal.SIGTERM
    assert terminal.settings() == terminal.before
    assert LEAVES_ALTERNATE_SCREEN in terminal.wrote


def test_bytes_of_another_encoding_end_nothing(terminal: Terminal):
    terminal.until("live")
    terminal.type("5")
    terminal.until("e2e")
    terminal.type("n")
    terminal.until("Make a key")
    terminal.send(b"caf\xe9 \xff\xfe")  # é in Latin-1, and what is nothing anywhere
    terminal.until("caf\ufffd")
    terminal.type("\x1b")
    terminal.until("new key")


@pytest.mark.parametrize("exported", [{}, {"COLUMNS": "80", "LINES": "24"}], ids=["plain", "exported"])
def test_another_size_is_taken(installation: Installation, exported: dict[str, str]):
    environ = {name: value for name, value in installation.environ.items() if name not in ("COLUMNS", "LINES")}
    terminal = Terminal([str(installation.program), "admin"], environ | exported)
    terminal.until("live")
    terminal.drag("7 Certificates")
    terminal.close()


def test_a_daemon_that_is_killed_and_comes_back(terminal: Terminal, installation: Installation):
    terminal.until("live")
    terminal.type("5")
    terminal.until("e2e")
    terminal.read(0.5)
    assert installation.stop(signal.SIGKILL) == -signal.SIGKILL
    terminal.until("stale since")
    terminal.type("9")  # it goes on, and does not pretend
    terminal.until("BEFORE")
    terminal.until("daemon is not running")
    installation.start()
    terminal.until("live")
    terminal.type("5")
    terminal.until("active")


def test_keys_that_come_in_one_packet_are_taken_in_their_order(terminal: Terminal, installation: Installation):
    before = {key["id"] for key in installation.json("key", "list")["keys"]}
    terminal.until("live")
    terminal.type("5nn8n" + "\r" * 8 + "q\rq")
    terminal.until("shown this once")
    terminal.type("\rq")
    terminal.read(1)
    assert terminal.process.poll() is None
    terminal.type("\x1b")
    terminal.until("is made")
    made = [key["name"] for key in installation.json("key", "list")["keys"] if key["id"] not in before]
    assert made == ["n8n"]


def test_without_a_terminal_it_says_how_to_get_one(installation: Installation):
    done = installation.command("admin", code=1)
    assert done.stderr == b"synapse: The console needs a terminal. Over SSH: ssh -t HOST synapse admin.\n"
