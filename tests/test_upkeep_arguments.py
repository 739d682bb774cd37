from typing import Any

import pytest

from appliance.arguments import parser


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("backup f", {"command": "backup", "file": "f", "without_keys": False, "passphrase_stdin": False}),
        ("backup f --passphrase-stdin --without-keys", {"without_keys": True, "passphrase_stdin": True}),
        ("backup f --passphrase-file p", {"passphrase_file": "p"}),
        ("restore f --passphrase-file p", {"command": "restore", "file": "f", "passphrase_file": "p"}),
        ("restore f", {"passphrase_file": None, "passphrase_stdin": False}),
        ("doctor", {"command": "doctor", "online": False}),
        ("doctor --online --json", {"online": True, "json": True}),
    ],
)
def test_what_can_be_typed(line: str, expected: dict[str, Any]):
    found = vars(parser().parse_args(line.split()))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("command", ["backup", "restore"])
@pytest.mark.parametrize("option", ["--passphrase secret", "--passphrase=secret", "--password secret"])
def test_a_passphrase_is_not_taken_and_not_repeated(command: str, option: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parser().parse_args([command, "f", *option.split()])
    told = capsys.readouterr().err
    assert "does not go on the command line" in told
    assert "secret" not in told


@pytest.mark.parametrize("line", ["backup", "restore", "backup f --passphrase-stdin --passphrase-file p", "doctor x"])
def test_wrong_usage(line: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(line.split())
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
