"""The tokens of one call. Source: shield.md ("Tokens", "Restoring")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.categories import Category
from appliance.shield.forms import core_of
from appliance.shield.tokens import suffix
from appliance.shield.vault import Vault, mint, written_like_tokens
from tests.shield.planted import CLASHING, KEY

TWO = {"[EMAIL_k3j2h4m5]": "jane@example.org", "[DATE_1985_abcdefgh]": "12/05/1985"}


class TestVault:
    def test_it_counts_values_and_sorts_their_categories(self):
        vault = Vault({**TWO, "[EMAIL_a2a2a2a2]": "bob@example.net"})
        assert vault.count == 3
        assert vault.categories == ("DATE", "EMAIL")
        assert list(vault.counts.items()) == [("DATE", 1), ("EMAIL", 2)]

    def test_a_date_counts_once_with_its_year_or_without(self):
        dates = {"[DATE_1985_abcdefgh]": "12/05/1985", "[DATE_1986_abcdefgh]": "12/05/1986", "[DATE_ijklmnop]": "3/8"}
        vault = Vault({**dates, "[NHS_NUMBER_a2a2a2a2]": "943 476 5919"})
        assert vault.counts == {"DATE": 3, "NHS_NUMBER": 1}
        assert sum(vault.counts.values()) == vault.count

    def test_an_empty_one(self):
        assert (Vault({}).count, Vault({}).categories, list(Vault({}).cores)) == (0, (), [])
        assert Vault({}).counts == {}

    def test_it_shows_no_value(self):
        assert repr(Vault(TWO)) == "Vault(2 values)"

    def test_a_value_is_known_by_its_token(self):
        assert Vault(TWO).value("emailk3j2h4m5") == "jane@example.org"
        assert Vault(TWO).value("emailk3j2h4m6") is None

    @pytest.mark.parametrize(
        ("sent", "alone"),
        [
            ("mail [EMAIL_k3j2h4m5]", {"EMAIL", "DATE"}),
            ("EMAIL and emails", {"EMAIL", "DATE"}),
            ("mail [EMAIL]", {"DATE"}),
            ("mail [email]", {"DATE"}),
            (r"mail \[EMAIL\]", {"DATE"}),
            ("mail %5BEMAIL%5D", {"DATE"}),
            ("mail [EMAIL_zzzzzzzz]", {"DATE"}),
            ("mail [DATE] [EMAIL]", set[str]()),
        ],
    )
    def test_a_category_stands_for_its_only_token_if_the_call_wrote_no_such_thing(self, sent: str, alone: set[str]):
        assert set(Vault(TWO, (), [sent]).alone) & {"EMAIL", "DATE"} == alone

    def test_a_category_with_two_tokens_stands_for_neither(self):
        alone = Vault({**TWO, "[EMAIL_a2a2a2a2]": "bob@example.net"}).alone
        assert dict(alone) == {"DATE": "date1985abcdefgh", "DATE1985": "date1985abcdefgh"}

    def test_a_year_stands_for_its_only_date(self):
        dates = {"[DATE_1985_abcdefgh]": "12/05/1985", "[DATE_1986_abcdefgh]": "12/05/1986", "[DATE_ijklmnop]": "3/8"}
        assert dict(Vault(dates).alone) == {"DATE1985": "date1985abcdefgh", "DATE1986": "date1986abcdefgh"}
        assert dict(Vault(dates, (), ["[DATE_1985]"]).alone) == {"DATE1986": "date1986abcdefgh"}

    def test_an_address_is_permitted_if_the_call_names_its_host_or_wrote_it_so(self):
        written = ["see https://known.example/x or //jane@example.org"]
        vault = Vault(TWO, written, ["see https://known.example/x or //[EMAIL_k3j2h4m5]"])
        for depth in (0, 1, 2):
            assert vault.permits("https://known.example/?q=", "emailk3j2h4m5", depth)
            assert vault.permits("//", "emailk3j2h4m5", depth)
            assert not vault.permits("//", "date1985abcdefgh", depth)
            assert not vault.permits("https://evil.example/?q=", "emailk3j2h4m5", depth)


class TestMint:
    def test_a_value_has_the_shortest_token_that_is_its_own(self):
        tokens = mint([("EMAIL", "jane@example.org"), ("DATE", "1985-05-12")], KEY, ())
        assert tokens["EMAIL", "jane@example.org"] == f"[EMAIL_{suffix(KEY, 'EMAIL', 'jane@example.org')}]"
        assert tokens["DATE", "1985-05-12"] == f"[DATE_1985_{suffix(KEY, 'DATE', '1985-05-12')}]"

    def test_two_that_clash_are_both_lengthened_and_a_third_is_not(self):
        one, other = CLASHING
        assert suffix(KEY, "EMAIL", one) == suffix(KEY, "EMAIL", other)
        tokens = mint([("EMAIL", one), ("EMAIL", other), ("EMAIL", "jane@example.org")], KEY, ())
        assert tokens["EMAIL", one] == f"[EMAIL_{suffix(KEY, 'EMAIL', one, 9)}]"
        assert tokens["EMAIL", other] == f"[EMAIL_{suffix(KEY, 'EMAIL', other, 9)}]"
        assert tokens["EMAIL", "jane@example.org"] == f"[EMAIL_{suffix(KEY, 'EMAIL', 'jane@example.org')}]"

    @pytest.mark.parametrize("lengths", [range(8, 9), range(8, 12), range(8, 52)])
    def test_one_that_is_taken_is_lengthened_until_it_is_not(self, lengths: range):
        taken = [core_of(f"[EMAIL_{suffix(KEY, 'EMAIL', 'jane@example.org', length)}]") for length in lengths]
        tokens = mint([("EMAIL", "jane@example.org")], KEY, taken)
        assert (
            tokens["EMAIL", "jane@example.org"] == f"[EMAIL_{suffix(KEY, 'EMAIL', 'jane@example.org', lengths.stop)}]"
        )

    @given(st.sets(st.tuples(st.sampled_from(["EMAIL", "NAME", "DATE"]), st.text(max_size=12)), max_size=30))
    def test_distinct_values_never_share_a_token(self, values: set[tuple[Category, str]]):
        tokens = mint(values, KEY, ())
        assert len({core_of(each) for each in tokens.values()}) == len(values)


def test_what_is_written_like_a_token():
    texts = [
        "xEMAIL_cccccccc_",
        r"[EMAIL_k3j2h4m5] \[NAME\_abcdefgh\] EMAIL_zzzzzzzz, %5BEMAIL_aaaaaaaa%5D \\[EMAIL\\_bbbbbbbb\\]",
        "[EMAIL]",
    ]
    found = written_like_tokens(texts, ["EMAIL", "NAME"])
    assert found == [
        "emailaaaaaaaa", "emailbbbbbbbb", "emailcccccccc", "emailk3j2h4m5", "emailzzzzzzzz", "nameabcdefgh",
    ]  # fmt: skip
