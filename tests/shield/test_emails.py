"""E-mail addresses. Sources: shield.md ("Detection"); the vectors are those of python-email-validator."""

import pytest

from appliance.shield.emails import find
from tests.shield.data import labelled_json
from tests.shield.found import values

NOT_IN_PROSE = {
    "＠@fullwidth.at",  # an @ before the @
    '"quoted.with.at@"',  # has no domain, and is in the vectors as an argument of another kind
}


@pytest.mark.parametrize(
    "kind", ["test_email_valid", "test_email_valid_intl_local_part", "test_email_valid_only_if_quoted_local_part"]
)
def test_valid_addresses_are_found_whole_in_a_sentence(kind: str):
    addresses = [each for each in labelled_json("email_vectors.json")[kind] if each not in NOT_IN_PROSE]
    assert {each: values(find, f"Write to {each} today.") for each in addresses} == {each: [each] for each in addresses}


@pytest.mark.parametrize(
    "text",
    [
        "user@localhost",
        "my@host.localhost",
        "git@github.com:octocat/hello.git",
        "git clone git@git.example.org:x",
        "jane@build.example.com:/srv/www",
        "jane@build.example.com:app/release.tar",
        "rsync jane@host.example.com::module",
        "ssh://deploy@host.example.com/srv",
        "https://user:pa$$word@example.com/x",
        "postgres://app@db.example.com:5432/x",
        "user@2x.png",
        "icon~ipad@3x.jpeg",
        "icon@2x.min.png",
        "core@app.min.js",
        "pkg@1.2.3",
        "react@18.3.0-rc.beta",
        "actions/checkout@v4.1",
        "@app.route('/')",
        "`@app.route`",
        '"\\n@app.route"',
        "getty@tty1.service",
        "this@MainActivity.applicationContext",
        "x@self.weight",
        "h@w.transpose(0)",
        "user@mod.some_name",
        "j****@example.com",
        "****@example.com",
        "a@b",
        "@example.com",
        "a@.com",
        "a@-b.com",
        "a@b.c",
        "a@192.0.2.1",
        "Listener@493]",
    ],
)
def test_what_only_has_an_at(text: str):
    assert values(find, text) == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("jane@example.com.", "jane@example.com"),
        ("(jane@example.com)", "jane@example.com"),
        ("'jane@example.com'", "jane@example.com"),
        ("mail=jane@example.com&x=1", "jane@example.com"),
        ("jane@example.com:secret", "jane@example.com"),
        ("jane@example.com-Paris", "jane@example.com"),
        ("jane@example.com2024", "jane@example.com"),
        ("jane@example.com.2024", "jane@example.com"),
        ("jane@example.com.csv", "jane@example.com"),
        ("jane@example.com-2024.pdf", "jane@example.com"),
        ("jane@example.com_2024.pdf", "jane@example.com"),
        ("jane@praxis.solutions_2024.pdf", "jane@praxis.solutions"),
        ("jane@example.com_copy", "jane@example.com"),
        ("jane@host.example.localhost", "jane@host.example"),
        ("o'brien+a_b.c-d@example.co.uk", "o'brien+a_b.c-d@example.co.uk"),
        ("123@163.com", "123@163.com"),
        ("git-fan@example.com", "git-fan@example.com"),
        ("a\\njane@example.com", "jane@example.com"),
        ("mailto%3Ajane@example.com", "jane@example.com"),
        ("/u/jane@example.com/x", "jane@example.com"),
        ("https://example.org/?q=jane@example.com", "jane@example.com"),
        ("ftp://jane@example.com:pw@ftp.example.org/", "jane@example.com"),
        ('"Jane Doe"@example.com', '"Jane Doe"@example.com'),
        ("jane@example.com(work)", "jane@example.com"),
        ("<20240101.AB12@mail.example.org>", "20240101.AB12@mail.example.org"),
        ("root@ip-10-0-0-7.internal", "root@ip-10-0-0-7.internal"),
        ("x" * 64 + "@example.com", "x" * 64 + "@example.com"),
    ],
)
def test_where_an_address_begins_and_ends(text: str, address: str):
    assert values(find, text) == [address]


@pytest.mark.parametrize(
    "address",
    [
        "jane[at]example[dot]com",
        "jane (AT) example (DOT) com",
        "jane{at}example.com",
        "jane@example[dot]com",
        "jean(arobase)exemple(point)fr",
        "juan (arroba) ejemplo (punto) es",
        "max [ät] beispiel [punkt] de",
        "mario(chiocciola)esempio(punto)it",
        "jan[małpa]przyklad[kropka]pl",
        "joao(arroba)exemplo(ponto)pt",
        "jane[dot]m[dot]doe[at]example[dot]org[dot]uk",
    ],
)
def test_spelled_out_signs(address: str):
    assert values(find, f"to {address}, please") == [address]


def test_at_in_brackets_alone_is_prose():
    assert values(find, "the meeting (at) noon, at the [dot] and {at} the office") == []


def test_two_addresses_that_touch():
    assert values(find, "ann@example.org,bob@example.net") == ["ann@example.org", "bob@example.net"]
