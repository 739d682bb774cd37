import dataclasses
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from appliance.admin import wire
from appliance.arguments import parser
from appliance.engine.main import EngineOptions

ROOT = Path(__file__).resolve().parent.parent


def parsed(line: str) -> dict[str, Any]:
    return vars(parser().parse_args(line.split()))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("status", {"command": "status", "config": None, "json": False}),
        ("key create --name a", {"command": "key create", "name": "a", "scope": [], "read_only": False, "user": None}),
        (
            "key create --name a --user u --workspace w --scope engine --scope proofs --read-only"
            " --ceiling 2.5 --rpm 9",
            {
                "name": "a",
                "user": "u",
                "workspace": "w",
                "scope": ["engine", "proofs"],
                "read_only": True,
                "ceiling": 2500,
                "rpm": 9,
            },
        ),
        ("key revoke laptop", {"command": "key revoke", "key": "laptop"}),
        ("model set full llama3.2:3b", {"command": "model set", "role": "full", "name": "llama3.2:3b"}),
        ("model pull qwen3:8b", {"command": "model pull", "name": "qwen3:8b", "node": None, "cancel": False}),
        ("model pull qwen3:8b --node desk --cancel", {"node": "desk", "cancel": True}),
        ("workspace allowance legal --questions 2.5", {"name": "legal", "questions": 2500}),
        ("workspace allowance legal --unlimited", {"command": "workspace allowance", "questions": None}),
        ("ledger", {"command": "ledger", "by": None, "since": None, "limit": 20}),
        (
            "ledger --until 2026-11-30 --by key --ending failed",
            {"command": "ledger", "by": "key", "ending": "failed", "until": datetime(2026, 12, 1, tzinfo=UTC)},
        ),
        ("ledger --left --by left", {"command": "ledger", "left": True, "by": "left"}),
        # What stands before the word holds for it too.
        ("ledger --left export --csv", {"command": "ledger export", "left": True}),
        ("ledger export --csv", {"command": "ledger export", "left": None}),
        (
            "ledger --since 2026-11-01 --key a export --csv --key b",
            {"command": "ledger export", "since": datetime(2026, 11, 1, tzinfo=UTC), "key": "b", "node": None},
        ),
        ("proof list --limit 5 --before 0", {"command": "proof list", "limit": 5, "before": 0}),
        ("proof verify a b --keys k", {"command": "proof verify", "files": ["a", "b"], "keys": "k"}),
        ("proof verify - --keys k", {"files": ["-"]}),
        (
            "engine --port 0 --host ::1 --model m.gguf --threads 2 --slots 3 --context 512",
            {"port": 0, "host": "::1", "model": "m.gguf", "threads": 2, "slots": 3, "context": 512},
        ),
        ("engine --embedding-model e.gguf --state d", {"embedding_model": "e.gguf", "state": "d"}),
        ("engine", {"embedding_model": None, "state": None}),
        ("engine", {"port": None, "host": None, "model": None, "threads": None, "slots": None, "context": None}),
    ],
)
def test_what_can_be_typed(line: str, expected: dict[str, Any]):
    found = parsed(line)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "line",
    [
        "--config f --json key list",
        "key --config f --json list",
        "key list --config f --json",
        "--json key list --config f",
    ],
)
def test_the_common_options_go_anywhere(line: str):
    found = parsed(line)
    assert (found["config"], found["json"], found["command"]) == ("f", True, "key list")


def test_an_expiry_counts_from_now():
    end = parsed("key create --name a --expires 90d")["expires"]
    assert abs(end - datetime.now(UTC) - timedelta(days=90)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "synapse: the following arguments are required: COMMAND. Try: synapse --help"),
        ("kye", 'synapse: argument COMMAND: there is no "kye"; did you mean "key"? Try: synapse --help'),
        ("zzzz", 'synapse: argument COMMAND: there is no "zzzz"; there are: serve, admin, engine, '),
        ("key", "synapse key: the following arguments are required: COMMAND. Try: synapse key --help"),
        ("key create", "synapse key create: the following arguments are required: --name. Try: synapse key create --h"),
        (
            "key create --name a --rpm 0",
            'synapse key create: argument --rpm: "0" is not a whole number above zero. Try',
        ),
        (
            "key create --name a --expires x",
            'synapse key create: argument --expires: "x" is not a date such as 2027-01',
        ),
        ("key create --nam a", "synapse key create: the following arguments are required: --name. Try"),
        ("key list x", "synapse: unrecognized arguments: x. Try: synapse --help"),
        (
            "model set big m",
            'synapse model set: argument full|fast|local|embedding: there is no "big"; there are: full',
        ),
        ("proof verify", "synapse proof verify: the following arguments are required: FILE. Try"),
    ],
)
def test_wrong_usage_is_one_line_that_says_where_to_read_on(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(line.split())
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(message)
    assert printed.err.count("\n") == 1


def test_the_help_says_how_to_get_the_version():
    assert parser().format_help().endswith("synapse version prints the version.\n")


def test_the_help_tells_the_engines_real_defaults():
    # The option of the engine and its default, in brackets at the end of its help.
    defaults = {field.name: field.default for field in dataclasses.fields(EngineOptions)}
    page = (ROOT / "docs" / "commands.md").read_text().partition("## synapse engine\n")[2].partition("\n## ")[0]
    told = dict(re.findall(r"`--(host|port|threads|slots|context) \w`? \| .*\(([^()]+)\) \|", page))
    assert told == {name: str(defaults[name]) for name in ("host", "port", "threads", "slots", "context")}


def test_the_help_names_the_scopes_and_roles_of_the_api():
    page = (ROOT / "docs" / "commands.md").read_text()
    assert f"what it may be used for: {', '.join(wire.SCOPES)};" in page
    assert f"synapse model set {'|'.join(wire.ROLES)} NAME" in page


class TestPage:
    def test_it_is_what_the_program_says(self):
        result = subprocess.run(
            [sys.executable, ROOT / "scripts" / "gen-docs", "--check"], capture_output=True, text=True
        )
        assert (result.returncode, result.stderr) == (0, "")

    def test_every_command_and_option_is_there(self):
        page = (ROOT / "docs" / "commands.md").read_text()
        for line in ("synapse serve", "synapse key create --name N", "synapse proof verify FILE…", "synapse version"):
            assert f"```\n{line}" in page
