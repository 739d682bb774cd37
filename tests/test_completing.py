from typing import Any

import pytest

from appliance.arguments import parser
from appliance.completing import NOWHERE, Place, place


def at(line: str) -> Place:
    """Where the cursor is at the end of the line."""
    *before, typed = line.split(" ")
    return place(parser(), before, typed)


def words(line: str) -> set[str]:
    return {word.text for word in at(line).words}


COMMON = {"--help", "--config", "--json"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {"serve", "key", "node", "ledger", "completion", "version"}),
        ("key ", {"create", "list", "revoke"}),
        ("key rev", {"create", "list", "revoke"}),  # what fits is for the shell's answer to say
        ("--json --config f key ", {"create", "list", "revoke"}),
        ("shield set ", {"standard", "medical", "off"}),
        ("model set ", {"full", "fast", "local", "embedding"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("key create --name a --scope ", {"engine", "proofs", "knowledge", "metrics"}),
        ("key create --scope=", {"engine", "proofs", "knowledge", "metrics"}),
        ("ledger --by ", {"day", "key"}),
        ("ledger --by day ", {"export"}),
        ("cluster key ", {"show", "new", "revoke"}),
        ("node add u --k", {"--kind", "--key-stdin"}),
    ],
)
def test_the_words_that_can_stand_there(line: str, expected: set[str]):
    assert expected <= words(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("status ", COMMON),
        ("status -", COMMON),
        ("status --json ", COMMON - {"--json"}),
        ("--json status ", COMMON - {"--json"}),
        ("--config=f status ", COMMON - {"--config"}),
        ("key list --json --config f -", {"--help"}),
        ("workspace allowance legal ", {*COMMON, "--questions", "--unlimited"}),
        # One excludes the other.
        ("workspace allowance legal --unlimited ", COMMON),
        ("node serve --gateway-words=w --cluster", set()),
        # May be given again.
        ("proof verify --keys k -", COMMON),
        ("tls ca -- ", set()),
    ],
)
def test_of_the_options_those_that_are_left(line: str, expected: set[str]):
    found = {word for word in words(line) if word.startswith(line.split(" ")[-1])}
    assert found == expected


def test_an_option_that_may_be_given_again_is_offered_again():
    assert "--scope" in words("key create --scope engine ")
    assert "--name" not in words("key create --name a ")


def test_what_help_hides_is_not_offered():
    assert "--key" not in words("provider add p ")
    assert "--answer" not in words("completion bash ")


def test_each_says_what_it_is_for():
    assert {word.text: word.meaning for word in at("key ").words}["revoke"] == "Revoke a key, from the next request on."
    assert all(word.meaning for word in at("key create ").words)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("--config ", "file"),
        ("status --config=", "file"),
        ("engine --model ", "file"),
        ("engine --state ", "directory"),
        ("proof verify ", "file"),
        ("proof verify a.json ", "file"),
        ("proof verify - --keys ", "file"),
        ("shield test ", "file"),
        ("restore ", "file"),
        ("node serve --cluster-key-file ", "file"),
        ("key revoke ", "working key"),
        ("key revoke -- ", "working key"),
        ("key create --user ", "user"),
        ("key create --workspace ", "workspace"),
        ("erase --user ", "user"),
        ("workspace allowance ", "workspace"),
        ("ledger --key ", "key"),
        ("ledger --node ", "node"),
        ("ledger --model ", "model"),
        ("ledger --since 30d export --workspace ", "workspace"),
        ("model set full ", "model"),
        ("provider test ", "provider"),
        ("provider remove ", "provider"),
        ("policy allow ", "lane"),
        ("policy allow a ", "lane"),
        ("policy active ", "lane"),
        ("node admit ", "newcomer"),
        ("node reject ", "candidate"),
        ("node drain ", "serving node"),
        ("node resume ", "draining node"),
        ("node remove ", "removable node"),
        ("proof show ", "certificate"),
        ("key create --name ", None),
        ("key create ", None),
        ("key revoke laptop ", None),
    ],
)
def test_the_names_that_can_stand_there(line: str, kind: Any):
    assert at(line).kind == kind


def test_what_was_named_already_is_said():
    assert at("policy allow a b ").given == ("a", "b")
    assert at("model set full ").given == ()


def test_what_is_settled_of_a_word_and_the_file_that_was_named():
    assert at("--config f shield scan --mode=m").prefix == "--mode="
    assert at("--config f key revoke ").config == "f"
    assert at("key revoke --config=g ").config == "g"


@pytest.mark.parametrize(
    "line", ["zzz ", "key zzz ", "--zzz ", "key list zzz ", "status --json=", "key create --zzz=", "key list x y "]
)
def test_where_the_words_make_no_sense_nothing_follows(line: str):
    assert at(line) == NOWHERE
