import io
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.commands import text

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


class TestTable:
    def test_columns_are_aligned(self):
        assert text.table(("ID", "NAME"), [("a", "x"), ("long-id", "")]) == ("ID       NAME", "a        x", "long-id")

    @pytest.mark.usefixtures("terminal")
    def test_what_is_too_wide_is_cut_and_says_so(self):
        lines = text.table(("ID", "NAME"), [("i" * 30, "n" * 100)], whole=(0,))
        assert lines[1] == "i" * 30 + "  " + "n" * 47 + "…"
        assert len(lines[1]) == 80

    @pytest.mark.usefixtures("terminal")
    def test_the_widest_is_cut_first(self):
        lines = text.table(("A", "B"), [("a" * 20, "b" * 100)])
        assert lines[1] == "a" * 20 + "  " + "b" * 57 + "…"

    def test_where_nobody_looks_nothing_is_cut(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(text, "available", lambda: None)
        assert text.table(("A", "B"), [("a" * 200, "b" * 300)])[1] == "a" * 200 + "  " + "b" * 300

    @pytest.mark.usefixtures("terminal")
    def test_what_must_be_whole_is_whole_even_where_it_does_not_fit(self):
        assert text.table(("ID",), [("i" * 100,)], whole=(0,))[1] == "i" * 100

    def test_wide_characters_take_two_columns(self):
        lines = text.table(("名前", "X"), [("ab", "1"), ("日本語", "2")])
        assert lines == ("名前    X", "ab      1", "日本語  2")

    def test_combining_marks_take_none(self):
        assert text.table(("N", "X"), [("e\u0301", "1")])[1] == "e\u0301  1"

    @given(st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=5), st.integers(20, 200))
    def test_never_wider_than_the_terminal_nor_anything_that_it_obeys(
        self, rows: list[tuple[str, str, str]], columns: int
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text, "available", lambda: columns)
            lines = text.table(("ONE", "TWO", "THREE"), rows)
        for line in lines:
            assert len(line) <= columns or not line.isascii()
            assert line.isprintable()


@pytest.mark.parametrize(
    ("given", "width", "fitted"),
    [("ab", 4, "ab  "), ("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("日本語", 5, "日本…"), ("日本語", 4, "日… ")],
)
def test_a_text_is_cut_or_filled_up(given: str, width: int, fitted: str):
    assert text.fit(given, width) == fitted


class TestWrapped:
    @pytest.mark.usefixtures("terminal")
    def test_a_sentence_breaks_between_words_at_the_terminals_width(self):
        lines = text.wrapped("word " * 30)
        assert len(lines) == 2
        assert all(line.split() == ["word"] * len(line.split()) and len(line) <= 80 for line in lines)

    @pytest.mark.usefixtures("terminal")
    def test_a_name_is_never_broken(self):
        assert text.wrapped(f"see some-{'x' * 90} here") == ("see", f"some-{'x' * 90}", "here")

    def test_where_nobody_looks_it_is_80_columns(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(text, "available", lambda: None)
        assert max(len(line) for line in text.wrapped("a " * 200)) == 79


class TestAvailable:
    @pytest.fixture(autouse=True)
    def columns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "123")

    def test_a_terminal_has_its_columns(self, monkeypatch: pytest.MonkeyPatch):
        terminal = io.StringIO()
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdout", terminal)
        assert text.available() == 123

    @pytest.mark.parametrize("stdout", [io.StringIO(), None], ids=["a file", "closed"])
    def test_anything_else_has_none(self, stdout: io.StringIO | None, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stdout", stdout)
        assert text.available() is None


def test_lines_but_the_first_can_be_set_in():
    lines = text.wrapped("a " * 100, indent="   ")
    assert len(lines) > 2
    assert not lines[0].startswith(" ")
    assert all(line.startswith("   a") for line in lines[1:])
