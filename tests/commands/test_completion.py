import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.admin.names import Name
from appliance.arguments import parser
from appliance.cli import main
from appliance.commands import completion
from appliance.commands.completion import answer, known_names
from appliance.commands.invocation import Invocation
from appliance.commands.registry import COMMANDS

NOBODY = {"SYNAPSE_ADMIN_SOCKET": "/nonexistent/admin.sock", "HOME": "/nonexistent"}

KEYS = (
    Name("a b", "admin@default, active", "key_1"),
    Name("a b", "admin@default, active", "key_2"),
    Name("$(touch x)", "", "key_3"),
    Name("tw:a", "", "key_4"),
    Name("-x", "", "key_5"),
    Name("new\nline", "", "key_6"),
    Name("a!b", "", "key_7"),
)


def said(shell: str, *words: str, keys: tuple[Name, ...] = KEYS) -> list[str]:
    """The answer to a shell about these words, the last of which the cursor is in."""
    asked: list[object] = []

    def names(kind: object, config: object) -> tuple[Name, ...]:
        asked.append((kind, config))
        return keys

    found = list(completion.ANSWERS[shell](words, names))
    assert len(asked) <= 1
    return found


class TestBash:
    """Its last word is the piece that bash replaces."""

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("key", "rev", "rev"), ["revoke"]),
            (("key", "revoke", "", ""), ["a\\ b", "\\$\\(touch\\ x\\)", "tw:a", "a\\!b"]),
            (("key", "revoke", "a\\ ", "a\\ "), ["a\\ b"]),
            (("key", "revoke", "'a", "'a"), ["a b", "a!b"]),
            (("key", "revoke", '"a', '"a'), ["a b"]),  # an exclamation mark would recall a command
            (("key", "revoke", '"$', '"$'), ["\\$(touch x)"]),
            (("key", "revoke", "a' b", "a' b"), None),
            (("key", "revoke", "tw:", ":"), ["a"]),
            (("key", "revoke", "tw:a", "a"), ["a"]),
            (("key", "revoke", "tw:a", "tw:a"), ["tw:a"]),  # with COMP_WORDBREAKS of somebody's own
            (("shield", "scan", "--mode=m", "m"), ["medical"]),
            (("shield", "scan", "--mode=", "="), ["standard", "medical", "off"]),
            (("shield", "scan", "--mode=m", "--mode=m"), ["--mode=medical"]),
            (("ledger", "--key='a", "'a"), ["a b", "a!b"]),
            (("key", "revoke", "key_3", "key_3"), ["key_3"]),
        ],
    )
    def test_the_words_as_they_are_typed(self, words: tuple[str, ...], expected: list[str] | None):
        assert said("bash", *words) == ([] if expected is None else ["words", *expected])

    def test_files_are_for_the_shell_to_find(self):
        assert said("bash", "proof", "verify", "a", "a") == ["file"]
        assert said("bash", "engine", "--state", "", "") == ["directory"]


class TestZsh:
    def test_each_word_and_what_it_means(self):
        assert said("zsh", "key", "revoke", "a ") == ["words", "a b", "admin@default, active"]
        assert said("zsh", "key", "l") == ["words", "list", "List all keys, revoked ones too."]

    def test_of_an_option_the_value_alone(self):
        assert said("zsh", "shield", "scan", "--mode=m") == ["words", "medical", ""]
        assert said("zsh", "proof", "verify", "--keys=") == ["file"]


class TestFish:
    def test_each_word_with_its_meaning(self):
        assert said("fish", "key", "revoke", "'a ") == ["words", "a b\tadmin@default, active"]
        assert said("fish", "shield", "scan", "--mode=m") == ["words", "--mode=medical\t"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_nothing_is_said_where_no_daemon_is(shell: str, capfd: pytest.CaptureFixture[str]):
    asked = b"key\0revoke\0\0" + (b"\0" if shell == "bash" else b"")
    assert answer(shell, asked, NOBODY).raw == b"words\0"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("config", "environ"),
    [
        ("/nonexistent/synapse.toml", {}),
        ("~nobody-of-this-name/synapse.toml", {}),
        (None, {"SYNAPSE_GATEWAY__PORT": "x"}),
    ],
)
def test_settings_that_are_wrong_are_no_ones_business_now(config: str | None, environ: dict[str, str]):
    assert known_names("key", config, {**NOBODY, **environ}) == ()


def test_what_is_no_text_is_no_reason_to_fail():
    assert answer("zsh", b"key\0revoke\0\xff\0", NOBODY).raw == b"words\0"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_whoever_asks_by_hand_is_answered_too(shell: str):
    for asked in (b"", b"\0", b"stat", b"stat\0"):
        assert b"status" in (answer(shell, asked, NOBODY).raw or b"")


class TestNobodyWaits:
    """No longer than a second for the TAB key."""

    def test_for_a_daemon_that_hangs(self, tmp_path: Path):
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(tmp_path / "admin.sock"))
            silent.listen()
            began = time.monotonic()
            assert known_names("key", None, {"SYNAPSE_ADMIN_SOCKET": str(tmp_path / "admin.sock")}) == ()
        assert time.monotonic() - began < 1

    def test_for_settings_that_nobody_writes(self, tmp_path: Path):
        os.mkfifo(tmp_path / "synapse.toml")
        began = time.monotonic()
        assert known_names("key", str(tmp_path / "synapse.toml"), {}) == ()
        assert time.monotonic() - began < 1


def test_the_command_writes_the_script_of_this_very_program(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.argv", ["/opt/some where/synapse"])
    assert main(["completion", "bash"]) == 0
    assert b"'/opt/some where/synapse' completion bash --answer" in capfdbinary.readouterr().out
    typed = parser().parse_args(["completion", "zsh", "--program", "/usr/local/bin/synapse"])
    written = COMMANDS["completion"](Invocation(typed, {}, lambda: datetime.now(UTC))).raw
    assert b"/usr/local/bin/synapse completion zsh --answer" in (written or b"")
