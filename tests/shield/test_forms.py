"""How a token may be written. Source: shield.md ("Restoring")."""

import pytest

from appliance.shield.categories import MEDICAL
from appliance.shield.forms import MINTED, beginning, core_of, forms, places
from appliance.shield.tokens import token

PLAIN = forms(1)
TOKENS = ("[EMAIL_k3j2h4m5]", "[IP_ADDRESS_zzz22222]", "[DATE_1985_abcdefgh]", "[DATE_ijklmnop]")
CORES = sorted(map(core_of, TOKENS))


def found(text: str, backslashes: int = 1) -> list[tuple[str, str]]:
    """What stands at each place, with its core."""
    allowed = forms(backslashes)
    return [(text[place.first : place.end], place.core) for place in places(text, 0, allowed, MEDICAL)]


def waiting(text: str) -> str:
    """What at the end of the text is held back."""
    return text[beginning(text, 0, PLAIN, CORES) :]


class TestPlaces:
    @pytest.mark.parametrize("category", MEDICAL)
    def test_every_category_is_found_as_minted(self, category: str):
        minted = f"[{category}_k3j2h4m5]"
        assert found(f"x{minted}y") == [(minted, core_of(minted))]

    @pytest.mark.parametrize(
        "written",
        [
            "[EMAIL_k3j2h4m5]", "[email_k3j2h4m5]", "[Email_K3J2H4M5]", "EMAIL_k3j2h4m5", "EMAILk3j2h4m5",
            "[EMAILk3j2h4m5]", r"\[EMAIL\_k3j2h4m5\]", r"\[EMAIL_k3j2h4m5\]", r"[EMAIL\_k3j2h4m5]", r"EMAIL\_k3j2h4m5",
            "%5BEMAIL_k3j2h4m5%5D", "%5bEMAIL%5fk3j2h4m5%5d", "[EMAIL_k3j2h4m5%5D",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize(
        ("before", "after"), [("", ""), (" ", " "), ("(", ")"), ("`", "`"), ("**", "**"), ("é ", "'s"), ("<", ">")]
    )
    def test_every_rewrite_is_found_whole(self, written: str, before: str, after: str):
        assert found(before + written + after) == [(written, "emailk3j2h4m5")]

    @pytest.mark.parametrize(
        "written",
        ["[IP_ADDRESS_zzz22222]", r"\[IP\_ADDRESS\_zzz22222\]", "%5BIP%5FADDRESS%5Fzzz22222%5D", "ipaddress_zzz22222"],
    )
    def test_so_is_a_name_of_two_words(self, written: str):
        assert found(written) == [(written, "ipaddresszzz22222")]

    @pytest.mark.parametrize("written", ["[DATE_1985_abcdefgh]", r"\[DATE\_1985\_abcdefgh\]", "date_1985_abcdefgh"])
    def test_so_is_a_year(self, written: str):
        assert found(written) == [(written, "date1985abcdefgh")]

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("[EMAIL_k3j2h4m5, or none]", "EMAIL_k3j2h4m5"),
            ("(see [1] EMAIL_k3j2h4m5]", "EMAIL_k3j2h4m5"),
            (r"C:\[EMAIL_k3j2h4m5]", "[EMAIL_k3j2h4m5]"),
            (r"\nEMAIL_k3j2h4m5", "EMAIL_k3j2h4m5"),
            ("x[EMAIL_k3j2h4m5]y", "[EMAIL_k3j2h4m5]"),
            ("[[EMAIL_k3j2h4m5]]", "[EMAIL_k3j2h4m5]"),
            (r"\\[EMAIL\_k3j2h4m5\]", r"\[EMAIL\_k3j2h4m5\]"),
        ],
    )
    def test_what_belongs_to_the_text_stays_there(self, text: str, place: str):
        assert found(text) == [(place, "emailk3j2h4m5")]

    @pytest.mark.parametrize(
        "text",
        [
            "xEMAIL_k3j2h4m5", "EMAIL_k3j2h4m5é", "EMAIL_k3j2h4m5_", "_EMAIL_k3j2h4m5", "éEMAIL_k3j2h4m5",
            "EMAIL__k3j2h4m5",
            "EMAIL k3j2h4m5", "EM_AIL_k3j2h4m5", "%5BEMAIL_k3j2h4m5", "[EMAI_k3j2h4m5]", "EMAIL_" + "a" * 53,
        ],
    )  # fmt: skip
    def test_without_a_boundary_or_with_other_signs_it_is_none(self, text: str):
        assert found(text) == []

    @pytest.mark.parametrize("written", ["[EMAIL]", r"\[EMAIL\]", "%5BEMAIL%5D"])
    def test_a_category_alone_needs_its_brackets(self, written: str):
        assert found(written) == [(written, "EMAIL")]
        assert found("EMAIL") == []

    def test_in_json_a_sign_has_more_backslashes(self):
        assert found(r"\\[EMAIL\\_k3j2h4m5\\]", 2) == [(r"\\[EMAIL\\_k3j2h4m5\\]", "emailk3j2h4m5")]

    def test_a_long_text_has_the_same_places_as_its_parts(self):
        filler = " The date of a message, its name and e-mail address. İ " * 100
        parts = [
            "[EMAIL_k3j2h4m5]",
            r"\[IP\_ADDRESS\_zzz22222\]",
            "%5BDATE_1985_abcdefgh%5D",
            "MAC_ADDRESS_aaaaaaaa",
            "[VIN]",
        ]
        assert found(filler + filler.join(parts) + filler) == [each for part in parts for each in found(part)]


class TestBeginning:
    @pytest.mark.parametrize("minted", TOKENS)
    @pytest.mark.parametrize("rewrite", ["{}", "\\{}", "%5B{}", "plain"])
    def test_every_beginning_of_a_token_is_held_whole(self, minted: str, rewrite: str):
        written = {
            "{}": minted,
            "\\{}": minted.replace("[", r"\[").replace("_", r"\_").replace("]", r"\]"),
            "%5B{}": minted.replace("[", "%5B").replace("_", "%5F").replace("]", "%5D"),
            "plain": minted.strip("[]").lower(),
        }[rewrite]
        for end in range(1, len(written)):
            assert waiting(f"text {written[:end]}") == written[:end]
        assert waiting(f"text {written}") == ("" if written[-1] in "]D" else written)

    @pytest.mark.parametrize(
        "text",
        [
            "", "text", "text ", "see [1", "[Ex", "[EMAIL_a", "[EMAIL__", "[PHONE", "[NAME", "xEM",
            "EMAIL_k3j2h4m5.", "[EMAIL_k3j2h4m5x",
            "[DATE_19b", "[DATE_1986", "[EMAIL]", "%41", "[ ", "a%5C", "_e",
        ],
    )  # fmt: skip
    def test_nothing_else_is_held(self, text: str):
        assert waiting(text) == ""

    @pytest.mark.parametrize("hostile", ["[", "[EMAIL_", "\\", "EMAIL_k", "%5", "[EMAIL_k3j2h4m5", "E", "_"])
    def test_no_more_is_held_than_the_longest_form(self, hostile: str):
        assert len(waiting(hostile * 10_000)) <= PLAIN.longest


def test_the_longest_form_is_the_longest_that_matches():
    longest = max(
        (token(category, "1985-05-12", "a" * 52) for category in MEDICAL), key=lambda each: len(each) + each.count("_")
    )
    written = longest.replace("[", r"\[").replace("_", r"\_").replace("]", r"\]")
    assert found(written) == [(written, core_of(longest))]
    assert len(written) <= PLAIN.longest


@pytest.mark.parametrize(
    ("text", "minted"),
    [
        ("[EMAIL_k3j2h4m5]", True), ("[DATE_1985_k3j2h4m5]", True), ("[IP_ADDRESS_" + "a" * 52 + "]", True),
        ("[EMAIL_k3j2h]", False), ("[EMAIL_K3J2H4M5]", False), ("[EMAIL_k3j2h4m1]", False), ("EMAIL_k3j2h4m5", False),
    ],
)  # fmt: skip
def test_what_was_minted(text: str, minted: bool):
    assert bool(MINTED.fullmatch(text)) == minted
