import dataclasses
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from appliance.admin.node_changes import CLUSTER_KEY_DAYS
from appliance.arguments import parser
from appliance.cluster.agent.main import NodeOptions
from appliance.cluster.machine import DEFAULT_SLOTS

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "commands.md").read_text()


def parsed(line: str) -> dict[str, Any]:
    return vars(parser().parse_args(line.split()))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("node list", {"command": "node list", "all": False}),
        ("node list --all", {"all": True}),
        ("node add http://a", {"command": "node add", "url": "http://a", "kind": "ollama", "name": None, "ca": None}),
        (
            "node add http://a --kind openai-compatible --name n --key-stdin --ca f --slots 2",
            {"kind": "openai-compatible", "name": "n", "key_stdin": True, "ca": "f", "slots": 2},
        ),
        ("node admit abcd", {"command": "node admit", "node": "abcd", "words": None}),
        ("node admit abcd --words=zoo-zoo", {"words": "zoo-zoo"}),
        ("node reject x", {"command": "node reject", "node": "x"}),
        ("node drain x", {"command": "node drain", "node": "x"}),
        ("node resume x", {"command": "node resume", "node": "x"}),
        ("node remove x", {"command": "node remove", "node": "x"}),
        ("node serve", {"command": "node serve", "name": None, "interface": [], "no_announce": False, "state": None}),
        ("node serve --interface a --interface b", {"interface": ["a", "b"]}),
        ("node serve --port 0 --join-port 65535", {"port": 0, "join_port": 65535}),
        ("node reset --state d", {"command": "node reset", "state": "d"}),
        ("cluster words", {"command": "cluster words"}),
        ("cluster key", {"command": "cluster key"}),
        ("cluster key --json", {"command": "cluster key", "json": True}),
        ("cluster key show", {"command": "cluster key show"}),
        ("cluster --json key show", {"command": "cluster key show", "json": True}),
        ("cluster key new", {"command": "cluster key new", "uses": None, "expires": None}),
        ("cluster key new --uses 3", {"uses": 3}),
        ("cluster key new --expires 2027-01-31", {"expires": datetime(2027, 2, 1, tzinfo=UTC)}),
        ("cluster key revoke", {"command": "cluster key revoke"}),
    ],
)
def test_what_can_be_typed(line: str, expected: dict[str, Any]):
    found = parsed(line)
    assert {name: found[name] for name in expected} == expected


def test_an_expiry_counts_from_now():
    end = parsed("cluster key new --expires 7d")["expires"]
    assert abs(end - datetime.now(UTC) - timedelta(days=7)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("node", "synapse node: the following arguments are required: COMMAND."),
        ("node drian x", 'synapse node: argument COMMAND: there is no "drian"; did you mean "drain"?'),
        ("node add", "synapse node add: the following arguments are required: URL."),
        ("node add a --kind zzz", 'argument --kind: there is no "zzz"; there are: ollama, openai-compatible'),
        ("node add a --slots 0", 'argument --slots: "0" is not a whole number above zero'),
        ("node admit", "synapse node admit: the following arguments are required: ID."),
        ("node serve --port 65536", 'argument --port: "65536" is not a port, from 0 to 65535'),
        ("node serve --join-port -1", "synapse node serve: argument --join-port: "),
        ("node serve --cluster-key-file f --cluster-key-stdin", "not allowed with argument --cluster-key-file"),
        ("node serve --gateway-words a --cluster-key-stdin", "not allowed with argument --gateway-words"),
        ("cluster key nwe", 'there is no "nwe"; did you mean "new"?'),
        ("cluster key new --uses x", 'argument --uses: "x" is not a whole number above zero'),
        ("cluster key new --expires soon", 'argument --expires: "soon" is not a date such as 2027-01-31'),
    ],
)
def test_wrong_usage_is_one_line(line: str, said: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        parsed(line)
    printed = capsys.readouterr()
    assert (caught.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert said in printed.err
    assert "--help" in printed.err


@pytest.mark.parametrize(
    "line",
    [
        "node add http://a --key hunter2",
        "node add http://a --key=hunter2",
        "node add http://a --api-key hunter2",
        "node serve --cluster-key hunter2",
        "node serve --cluster-key=hunter2",
    ],
)
def test_a_key_does_not_go_on_the_command_line_and_is_not_repeated(line: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        parsed(line)
    printed = capsys.readouterr().err
    assert "hunter2" not in printed
    assert "a key does not go on the command line" in printed
    assert "-stdin" in printed


def test_the_help_tells_the_real_defaults():
    defaults = {field.name: field.default for field in dataclasses.fields(NodeOptions)}
    page = PAGE.partition("## synapse node serve\n")[2].partition("\n## ")[0]
    told = dict(re.findall(r"`--(ollama|host|port|join-port) \w+` \| .*\(([^()]+)\) \|", page))
    assert told == {name: str(defaults[name.replace("-", "_")]) for name in ("ollama", "host", "port", "join-port")}
    added = PAGE.partition("## synapse node add\n")[2].partition("\n## ")[0]
    assert f"`--slots N` | calls at the same time ({DEFAULT_SLOTS}) |" in added
    new = PAGE.partition("## synapse cluster key new\n")[2].partition("\n## ")[0]
    assert f"({CLUSTER_KEY_DAYS}d, where no number of uses is given)" in new
