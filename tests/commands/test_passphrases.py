import getpass
import io
import sys
from pathlib import Path

import pytest

from appliance.admin.wire import InvalidInput
from appliance.commands import passphrases

GOOD = "correct horse battery"


class Stdin(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


class Terminal(Stdin):
    def __init__(self) -> None:
        super().__init__(b"")

    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> list[str]:
    asked: list[str] = []
    left = list(lines)

    def ask(prompt: str, stream: object) -> str:
        asked.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", ask)
    return asked


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_of_a_file_and_of_standard_input_only_the_end_of_the_line_is_taken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
):
    (tmp_path / "pass").write_text(f" {GOOD} {end}", newline="")
    monkeypatch.setattr(sys, "stdin", Stdin(f" {GOOD} {end}".encode()))
    assert passphrases.for_a_new_backup(str(tmp_path / "pass"), stdin=False) == f" {GOOD} "
    assert passphrases.for_a_new_backup(None, stdin=True) == f" {GOOD} "


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "No passphrase came"),
        (b"\n", "No passphrase came"),
        (b"secret\xff", "is not text"),
        (b"two secret\nlines of it", "more than one line"),
        (b"secret" * 1000, "more than one line"),
        (b"secret", "too short"),
    ],
)
def test_what_is_none_is_told_and_not_repeated(monkeypatch: pytest.MonkeyPatch, data: bytes, what: str):
    monkeypatch.setattr(sys, "stdin", Stdin(data))
    with pytest.raises(InvalidInput, match=what) as caught:
        passphrases.for_a_new_backup(None, stdin=True)
    assert "secret" not in str(caught.value)


def test_for_an_old_backup_any_length_will_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", Stdin(b"short"))
    assert passphrases.for_a_backup(None, stdin=True) == "short"


def test_a_file_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(InvalidInput, match="No such file"):
        passphrases.for_a_backup(str(tmp_path / "none"), stdin=False)


@pytest.mark.parametrize("stdin", [None, Stdin(b"what nobody said to read")])
def test_without_a_terminal_it_has_to_be_said_where_it_is(monkeypatch: pytest.MonkeyPatch, stdin: object):
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(InvalidInput, match="There is no terminal") as caught:
        passphrases.for_a_backup(None, stdin=False)
    assert "--passphrase-file" in caught.value.advice


class TestTyped:
    def test_a_new_one_twice(self, monkeypatch: pytest.MonkeyPatch):
        asked = typed(monkeypatch, GOOD, GOOD)
        assert passphrases.for_a_new_backup(None, stdin=False) == GOOD
        assert len(asked) == 2

    def test_two_that_differ(self, monkeypatch: pytest.MonkeyPatch):
        typed(monkeypatch, GOOD, GOOD + "x")
        with pytest.raises(InvalidInput, match="not the same"):
            passphrases.for_a_new_backup(None, stdin=False)

    def test_an_old_one_once(self, monkeypatch: pytest.MonkeyPatch):
        asked = typed(monkeypatch, GOOD)
        assert passphrases.for_a_backup(None, stdin=True) == GOOD
        assert len(asked) == 1

    @pytest.mark.parametrize("lines", [(), ("",)])
    def test_nothing(self, monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...]):
        typed(monkeypatch, *lines)
        with pytest.raises(InvalidInput, match="No passphrase was typed"):
            passphrases.for_a_backup(None, stdin=False)
