import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.setting_rules import (
    AbsolutePath,
    Choice,
    Flag,
    Host,
    ListOf,
    OwnPrice,
    OwnPrices,
    Rule,
    Seconds,
    SettingValueError,
    Text,
    Url,
    Whole,
    shown,
)

PORT = Whole(0, 65_535)
WAIT = Seconds(0, 60)
MODE = Choice(("standard", "medical", "off"))
COUNTRY = Text("[A-Z]{2}", "two capitals")


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (PORT, 0, 0),
        (PORT, 65_535, 65_535),
        (WAIT, 30, 30.0),
        (WAIT, 0.25, 0.25),
        (Flag(), True, True),
        (MODE, "off", "off"),
        (COUNTRY, "DE", "DE"),
        (Host(), "0.0.0.0", "0.0.0.0"),
        (Host(), "::", "::"),
        (Host(), "office-1.lan", "office-1.lan"),
        (Url(), "http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        (Url(), "http://box.lan/", "http://box.lan"),
        (Url(), "https://[fd00::1]:11434", "https://[fd00::1]:11434"),
        (AbsolutePath(), "/var/lib/synapse", Path("/var/lib/synapse")),
        (AbsolutePath(), "~/synapse", Path.home() / "synapse"),
        (ListOf(Url()), [], ()),
        (ListOf(Url()), ["http://a", "http://b/", "http://a/"], ("http://a", "http://b")),
        (OwnPrices(), [], ()),
        (
            OwnPrices(),
            ["openai/gpt-4o 2.50 10", "my-rack/hf.co/office/big model:q4  0.000001\t999999"],
            (
                OwnPrice("openai", "gpt-4o", (2_500_000, 10_000_000)),
                OwnPrice("my-rack", "hf.co/office/big model:q4", (1, 999_999_000_000)),
            ),
        ),
    ],
)
def test_allowed(rule: Rule, value: object, expected: object):
    result = rule.check(value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (PORT, -1),
        (PORT, 65_536),
        (PORT, "8787"),
        (PORT, 80.0),
        (PORT, True),
        (PORT, None),
        (WAIT, -0.1),
        (WAIT, 60.1),
        (WAIT, float("nan")),
        (WAIT, float("inf")),
        (WAIT, False),
        (WAIT, "30"),
        (Flag(), 1),
        (Flag(), "yes"),
        (MODE, "Standard"),
        (MODE, ["off"]),
        (MODE, 0),
        (COUNTRY, "fr"),
        (COUNTRY, "FRA"),
        (COUNTRY, "FR\n"),
        (Host(), ""),
        (Host(), "a b"),
        (Host(), "localhost:80"),
        (Host(), "http://localhost"),
        (Host(), "[::]"),
        (Host(), "-x"),
        (Host(), 0),
        (Url(), "127.0.0.1:11434"),
        (Url(), "ftp://box"),
        (Url(), "http://"),
        (Url(), "http://box:0"),
        (Url(), "http://box:99999"),
        (Url(), "http://box:port"),
        (Url(), "http://[::1"),
        (Url(), "http://box/api"),
        (Url(), "http://box?x"),
        (Url(), "http://box#x"),
        (Url(), "http://me:secret@box"),
        (Url(), "http://a b"),
        (Url(), 11434),
        (AbsolutePath(), "state"),
        (AbsolutePath(), ""),
        (AbsolutePath(), "/a\0b"),
        (AbsolutePath(), "~no-such-user-here/x"),
        (AbsolutePath(), 3),
        (ListOf(Url()), "http://a"),
        (ListOf(Url()), ["http://a", 3]),
        (OwnPrices(), "openai/gpt-4o 2.50 10"),
        (OwnPrices(), [5]),
        (OwnPrices(), [["openai/gpt-4o", 2.5, 10]]),
        (OwnPrices(), ["gpt-4o 2.50 10"]),
        (OwnPrices(), ["openai/ 2.50 10"]),
        (OwnPrices(), ["openai/gpt-4o 2.50"]),
        (OwnPrices(), ["openai/gpt-4o 2,50 10"]),
        (OwnPrices(), ["openai/gpt-4o -1 10"]),
        (OwnPrices(), ["openai/gpt-4o 1e3 10"]),
        (OwnPrices(), ["openai/gpt-4o 0.0000001 10"]),
        (OwnPrices(), ["openai/gpt-4o 1 1000000"]),
        (OwnPrices(), ["openai/gpt-4o $1 $2"]),
        (OwnPrices(), ["openai/gpt-4o ١ ٢"]),
        (OwnPrices(), ["openai/gpt-4o 1 2", "openai/gpt-4o 1 3"]),
    ],
)
def test_refused(rule: Rule, value: object):
    with pytest.raises(SettingValueError):
        rule.check(value)


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        (PORT, "8787", 8787),
        (PORT, " 8787 ", 8787),
        (PORT, "80 80", "80 80"),
        (PORT, "", ""),
        (PORT, "٣", "٣"),
        (WAIT, "0.5", 0.5),
        (WAIT, "1e3", "1e3"),
        (WAIT, "nan", "nan"),
        (Flag(), "TRUE", True),
        (Flag(), "1", True),
        (Flag(), "false", False),
        (Flag(), "0", False),
        (Flag(), "maybe", "maybe"),
        (MODE, " off ", "off"),
        (ListOf(Url()), "http://a, http://b", ["http://a", "http://b"]),
        (ListOf(Url()), "", []),
        (OwnPrices(), "a/m 1 2, b/n 0.5 3,", ["a/m 1 2", "b/n 0.5 3"]),
        (AbsolutePath(), "/x", "/x"),
        (AbsolutePath(), "~/x", "~/x"),
        (AbsolutePath(), "", ""),
        (AbsolutePath(), "x", str(Path.cwd() / "x")),
    ],
)
def test_text_of_the_environment(rule: Rule, text: str, expected: object):
    assert rule.read(text) == expected


@given(st.text())
def test_no_text_breaks_a_rule(text: str):
    for rule in (PORT, WAIT, Flag(), MODE, COUNTRY, Host(), Url(), ListOf(Url()), OwnPrices()):
        with contextlib.suppress(SettingValueError):
            rule.check(rule.read(text))


def test_a_message_shows_the_value_but_no_password():
    assert shown("http://me:secret@box:1") == '"http://…@box:1"'
    assert shown(True) == "true"
    assert shown(99_999) == "99999"
    assert len(shown("x" * 1000)) == 60


def test_every_rule_says_what_it_allows():
    said = [
        rule.allowed
        for rule in (PORT, WAIT, Flag(), MODE, COUNTRY, Host(), Url(), AbsolutePath(), ListOf(Url()), OwnPrices())
    ]
    assert all(re.match("[a-z\"']", text) for text in said)
    assert PORT.allowed == "a whole number from 0 to 65535"
    assert MODE.allowed == '"standard", "medical" or "off"'
