"""A call's texts with tokens in place. Sources: shield.md ("Tokens"), synapse.md ("Consistent pseudonymization")."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.categories import Category
from appliance.shield.finding import Finding
from appliance.shield.mask import mask
from appliance.shield.restore import restore
from appliance.shield.tokens import suffix
from tests.shield.planted import CLASHING, KEY, SPELLINGS, Planted, planted, texts

JANE = suffix(KEY, "EMAIL", "jane.doe@example.org")
TOKEN = re.compile(r"\[[A-Z_]+(?:_[0-9]{4})?_[a-z2-7]{8,52}\]")


def found(text: str, *values: tuple[Category, str]) -> list[Finding]:
    """Findings of values, told by category, each at its first place after the one before."""
    findings: list[Finding] = []
    at = 0
    for category, value in values:
        at = text.index(value, at)
        findings.append(Finding(at, at + len(value), category, "planted"))
        at += len(value)
    return findings


def masked_jane(text: str, key: bytes = KEY) -> str:
    """The text with the address in it masked."""
    return mask([text], [found(text, ("EMAIL", "jane.doe@example.org"))], key=key).texts[0]


class TestMask:
    def test_a_call_without_findings_is_itself(self):
        masked = mask(["a [EMAIL_k3j2h4m5]", ""], [[], []], key=KEY)
        assert masked.texts == ("a [EMAIL_k3j2h4m5]", "")
        assert masked.vault.count == 0

    def test_each_value_becomes_its_token_and_nothing_else_changes(self):
        text = "Write to jane.doe@example.org, born 12 mai 1985."
        masked = mask([text], [found(text, ("EMAIL", "jane.doe@example.org"), ("DATE", "12 mai 1985"))], key=KEY)
        birth = suffix(KEY, "DATE", "1985-05-12")
        assert masked.texts == (f"Write to [EMAIL_{JANE}], born [DATE_1985_{birth}].",)
        assert (masked.vault.count, masked.vault.categories) == (2, ("DATE", "EMAIL"))

    @pytest.mark.parametrize("line", range(len(SPELLINGS)))
    def test_all_spellings_have_one_token_and_the_first_comes_back(self, line: int):
        category, spelled = SPELLINGS[line]
        masked = mask(spelled, [[Finding(0, len(each), category, "planted")] for each in spelled], key=KEY)
        assert len(set(masked.texts)) == masked.vault.count == 1
        assert restore(masked.texts[-1], masked.vault) == spelled[0]

    def test_a_home_country_makes_two_spellings_one(self):
        spelled = ["020 7946 0958", "+44 20 7946 0958"]
        findings = [[Finding(0, len(each), "PHONE", "planted")] for each in spelled]
        assert mask(spelled, findings, key=KEY, country="GB").vault.count == 1
        assert mask(spelled, findings, key=KEY).vault.count == 2

    def test_the_same_value_has_the_same_token_in_every_call_under_one_key(self):
        assert masked_jane("hi jane.doe@example.org")[3:] == masked_jane("jane.doe@example.org")
        assert masked_jane("jane.doe@example.org") != masked_jane("jane.doe@example.org", b"another key")

    def test_values_that_clash_get_tokens_of_their_own_wherever_they_stand(self):
        one, other = CLASHING
        calls = [one, f"and {other}, {one}"]
        masked = mask(calls, [found(one, ("EMAIL", one)), found(calls[1], ("EMAIL", other), ("EMAIL", one))], key=KEY)
        assert len(set(TOKEN.findall(" ".join(masked.texts)))) == 2
        assert [restore(text, masked.vault) for text in masked.texts] == calls

    def test_findings_must_come_with_their_texts(self):
        with pytest.raises(ValueError, match="zip"):
            mask(["a"], [], key=KEY)

    @given(texts(), texts())
    def test_distinct_values_never_share_a_token(self, one: Planted, other: Planted):
        masked = mask([one.text, other.text], [one.findings, other.findings], key=KEY)
        assert masked.vault.count == len(one.values | other.values)

    @given(texts())
    def test_no_value_leaves_in_any_of_its_forms(self, call: Planted):
        (sent,) = mask([call.text], [call.findings], key=KEY).texts
        for line in call.values:
            assert [each for each in SPELLINGS[line][1] if len(each) > len("03/08") and each in sent] == []


class TestWhatIsMaskedAlready:
    @given(texts())
    def test_masking_twice_changes_nothing(self, call: Planted):
        """Whatever part of a token somebody thinks is a value."""
        (once,) = mask([call.text], [call.findings], key=KEY).texts
        inside = [
            Finding(found.start() + 1, found.end() - 2, "NAME", "a part of a token") for found in TOKEN.finditer(once)
        ]
        assert mask([once], [inside], key=KEY).texts == (once,)
        whole = [Finding(found.start(), found.end(), "URL", "a token") for found in TOKEN.finditer(once)]
        assert mask([once], [whole], key=b"another key").texts == (once,)

    def test_of_a_finding_around_a_token_only_the_rest_is_masked(self):
        text = "Jean [EMAIL_k3j2h4m5], [NAME_abcdefgh] Dupont"
        sent = mask([text], [[Finding(0, len(text), "NAME", "planted")]], key=KEY).texts[0]
        first, last = suffix(KEY, "NAME", "jean"), suffix(KEY, "NAME", "dupont")
        assert sent == f"[NAME_{first}][EMAIL_k3j2h4m5], [NAME_abcdefgh][NAME_{last}]"

    def test_findings_before_between_and_after_tokens_are_masked(self):
        text = "bob@example.net [EMAIL_k3j2h4m5] bob@example.net [EMAIL_abcdefgh] bob@example.net"
        findings = found(text, *[("EMAIL", "bob@example.net")] * 3)
        bob = f"[EMAIL_{suffix(KEY, 'EMAIL', 'bob@example.net')}]"
        assert mask([text], [findings], key=KEY).texts == (f"{bob} [EMAIL_k3j2h4m5] {bob} [EMAIL_abcdefgh] {bob}",)


class TestWhatIsWrittenLikeAToken:
    @pytest.mark.parametrize(
        "literal",
        [
            f"[EMAIL_{JANE}]", f"EMAIL_{JANE}", f"[email_{JANE.upper()}]", rf"\[EMAIL\_{JANE}\]", f"%5BEMAIL_{JANE}%5D",
            f"xEMAIL_{JANE}y", f"EMAIL{JANE}", f"[EMAIL_{JANE}abc]",
            f"[EMAIL_{JANE}] [EMAIL_{suffix(KEY, 'EMAIL', 'jane.doe@example.org', 9)}]",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize(
        "place", ["{literal} jane.doe@example.org", "jane.doe@example.org {literal}", "jane.doe@example.org{literal}"]
    )
    def test_a_literal_in_the_text_lengthens_the_token_that_is_like_it(self, literal: str, place: str):
        text = place.format(literal=literal)
        masked = mask([text, "another"], [found(text, ("EMAIL", "jane.doe@example.org")), []], key=KEY)
        assert literal in masked.texts[0]
        assert restore(masked.texts[0], masked.vault) == text
        assert restore(literal, masked.vault) == literal
        assert restore(f"[EMAIL_{JANE}] EMAIL_{JANE}", masked.vault) == f"[EMAIL_{JANE}] EMAIL_{JANE}"

    def test_a_literal_in_another_text_of_the_call_does_so_too(self):
        masked = mask([f"[EMAIL_{JANE}]", "jane.doe@example.org"], [[], [Finding(0, 20, "EMAIL", "planted")]], key=KEY)
        assert masked.texts[1] == f"[EMAIL_{suffix(KEY, 'EMAIL', 'jane.doe@example.org', 9)}]"

    def test_a_literal_that_is_like_none_changes_nothing(self):
        assert masked_jane("[EMAIL_zzzzzzzz] jane.doe@example.org") == f"[EMAIL_zzzzzzzz] [EMAIL_{JANE}]"


@given(st.lists(st.sampled_from([" ", "(", "[", "\\", "x", '"']), max_size=6))
def test_planted_texts_are_what_they_say(around: list[str]):
    call = planted([*around, (0, "jane.doe@example.org"), *around, (0, "JANE.DOE@example.org")])
    assert [call.text[each.start : each.end] for each in call.findings] == [
        "jane.doe@example.org",
        "JANE.DOE@example.org",
    ]
    assert call.first.count("jane.doe@example.org") == 2
