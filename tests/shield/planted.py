"""Texts with personal values at known places, for the tests of masking and restoring. All values are fictitious."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from appliance.shield.categories import Category
from appliance.shield.finding import Finding

KEY = b"an installation's key"

CLASHING = ("user106971@example.org", "user389910@example.org")
"""Found by trying some millions: under `KEY`, the first eight characters of their tokens are the same."""

SPELLINGS: Sequence[tuple[Category, Sequence[str]]] = (
    ("EMAIL", ("jane.doe@example.org", "JANE.DOE@example.org", "jane.doe%40example.org",
        "jane.doe [at] example (dot) org")),
    ("EMAIL", ("bob@example.net", "bob@\u200bexample.net", "ｂｏｂ＠ｅｘａｍｐｌｅ．ｎｅｔ", "bob&#64;example.net")),
    ("PHONE", ("+33 6 12 34 56 78", "0033612345678", "+33 (0)6.12.34.56.78", "06 12 34 56 78",
        "06\u00a012\u00a034\u00a056\u00a078")),
    ("PHONE", ("06 12 34 56 78 poste 12", "+33 6 12 34 56 78 ext. 12")),
    ("IBAN", ("FR76 3000 6000 0112 3456 7890 189", "fr7630006000011234567890189", "FR76-3000-6000-0112-3456-7890-189")),
    ("CREDIT_CARD", ("4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111")),
    ("NAME", ("Jean Lefèvre", "JEAN LEFEVRE", "Dr Jean Lefèvre", "jean\nlefèvre")),
    ("NAME", ('Zoé "Zaza" D’Arc\\Roux', "Zoé \"Zaza\" D'Arc\\Roux")),
    ("DATE", ("12/05/1985", "1985-05-12", "12 mai 1985", "May 12, 1985", "12. Mai 1985", "12 de mayo de 1985")),
    ("DATE", ("3 août", "03/08")),
    ("IP_ADDRESS", ("2001:db8::1", "2001:0DB8:0:0::1")),
)  # fmt: skip
"""Each line is one value in several spellings; no two lines are the same value."""


class Planted(NamedTuple):
    """A text and where its values are. `first` has the text with each value in the spelling seen first in it, and
    `values` the lines of `SPELLINGS` in it."""

    text: str
    findings: tuple[Finding, ...]
    first: str
    values: frozenset[int]


def planted(pieces: Iterable[str | tuple[int, str]]) -> Planted:
    """A text of pieces: plain text, or a value as its line in `SPELLINGS` and its spelling."""
    text = first = ""
    seen: dict[int, str] = {}
    findings: list[Finding] = []
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            first += piece
            continue
        line, spelling = piece
        findings.append(Finding(len(text), len(text) + len(spelling), SPELLINGS[line][0], "planted"))
        text += spelling
        first += seen.setdefault(line, spelling)
    return Planted(text, tuple(findings), first, frozenset(seen))


_SIGNS = (
    "[", "]", "\\", "\\\\", "%5B", "%5D", "%5F", "%", "_", "EMAIL", "EMAIL_k3j2h4m5", "[EMAIL]", "[PHONE_abcdefgh]",
    "name", "NAME_", "DATE_1985", " ", "\n", "\\n", '"', '\\"', "{", "}", ":", ",", "](", "(", ")", "<", "<a ", "href=",
    ">", "//", "https://", "https://example.org/?q=", "www.", ".com/", "'", "`", "**", "é", "日本", "\0",
)  # fmt: skip


def texts() -> st.SearchStrategy[Planted]:
    """Any text with any values in it, also right beside each other, and beside what looks like parts of tokens."""
    values = st.sampled_from([(line, each) for line, (_, spelled) in enumerate(SPELLINGS) for each in spelled])
    plain = st.sampled_from(_SIGNS) | st.text(max_size=8)
    return st.lists(plain | values, max_size=14).map(planted)


def chunks(text: str, sizes: Sequence[int]) -> list[str]:
    """The text in pieces of these sizes, over and over."""
    cut: list[str] = []
    at = number = 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        cut.append(text[at : at + size])
        at += size
        number += 1
    return cut
