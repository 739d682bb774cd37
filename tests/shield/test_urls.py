"""Web addresses. Source: RFC 3986 for what an address is made of; where a sentence ends is ours."""

import pytest

from appliance.shield.urls import find


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in find(text)]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Voir https://example.com/a?b=c&d=1#e.", "https://example.com/a?b=c&d=1#e"),
        ("(http://example.org/dossier)", "http://example.org/dossier"),
        ("https://example.org/wiki/A_(b), puis", "https://example.org/wiki/A_(b)"),
        ('<a href="HTTP://EXAMPLE.NET">', "HTTP://EXAMPLE.NET"),
        ("visit www.example.com!", "www.example.com"),
        ("ftp://files.example.com/x", "ftp://files.example.com/x"),
        ("[page](https://example.com/x)", "https://example.com/x"),
    ],
)
def test_an_address_without_the_punctuation_around_it(text: str, address: str):
    assert found(text) == [address]


@pytest.mark.parametrize(
    "text", ["http", "://", "https://", "www.", "ssh://deploy@host", "a www b", "file.txt", "and/or"]
)
def test_what_is_none(text: str):
    assert found(text) == []
