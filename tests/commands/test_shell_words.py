import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.commands.shell_words import bash_word, fish_word, unquoted
from tests.e2e.needs import need

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1)
HOSTILE = [
    "a b",
    "$(touch x)",
    "`touch x`",
    "'",
    '"',
    "\\",
    "a\\nb",
    "~root",
    "!!",
    "*",
    "{a,b}",
    "#",
    "-x",
    "é",
    "a;b&c|d",
]


class TestUnquoted:
    """bash(1), "QUOTING"."""

    @pytest.mark.parametrize(
        ("typed", "word", "quote"),
        [
            ("", "", ""),
            ("a\\ b", "a b", ""),
            ("a\\", "a", ""),
            ("'a b", "a b", "'"),
            ("'a\\' 'b'", "a\\ b", ""),
            ('"a\\" \\b', 'a" \\b', '"'),
            ("$(x)", "$(x)", ""),
        ],
    )
    def test_a_word(self, typed: str, word: str, quote: str):
        assert unquoted(typed) == (word, quote)

    @given(TEXTS)
    def test_it_undoes_what_bash_is_told(self, name: str):
        assert unquoted(bash_word(name) or "") == (name, "")
        assert unquoted(shlex.quote(name)) == (name, "")
        for quote in "'\"":
            written = bash_word(name, quote)
            assert written is None or unquoted(f"{quote}{written}{quote}") == (name, "")


@given(st.lists(TEXTS, min_size=1, max_size=20), st.sampled_from(["", "'", '"']))
@settings(max_examples=100, deadline=None)
def test_bash_reads_each_as_that_name_and_runs_nothing(names: list[str], quote: str):
    names = [*names, *HOSTILE]
    words = [(name, bash_word(name, quote)) for name in names]
    program = "printf '%s\\0' " + " ".join(f"{quote}{word}{quote}" for _, word in words if word is not None)
    read = subprocess.run(["bash", "-c", program], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}, cwd="/")
    assert read.stdout.decode().split("\0")[:-1] == [name for name, word in words if word is not None]


def test_what_recalls_an_old_command_cannot_stand_between_double_quotation_marks():
    assert bash_word("a!b", '"') is None
    assert bash_word("a!b") == "a\\!b"


def test_a_word_of_fish():
    need("fish")
    for word in HOSTILE:
        run = subprocess.run(
            ["fish", "--no-config", "-c", f"printf %s {fish_word(word)}"], capture_output=True, check=True
        )
        assert run.stdout.decode() == word
