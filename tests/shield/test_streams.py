"""Answers that come in parts. Sources: shield.md ("Restoring", "Cost"), and the project's token cases."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.forms import forms
from appliance.shield.mask import mask
from appliance.shield.restore import restore
from appliance.shield.streams import Restorer
from appliance.shield.vault import Vault
from tests.shield.planted import KEY, Planted, chunks, texts

VALUES = {
    "[EMAIL_k3j2h4m5]": "jane@example.org",
    "[NAME_p2q7xabc]": 'D"Arc\\Lefèvre',
    "[DATE_1985_abcdefgh]": "12/5",
    "[IP_ADDRESS_zzz22222]": "192.0.2.44",
}
VAULT = Vault(VALUES, ["see known.example"], ["see known.example"])
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=5)
HOSTILE_LENGTH = 200_000
SLOWEST = 1.0
"""Seconds of work on so many characters: what takes time in proportion to them needs a tenth of it, what does not, more
than ten times as much."""


def fed(text: str, sizes: list[int], vault: Vault = VAULT, depth: int = 0) -> str:
    restorer = Restorer(vault, depth)
    return "".join(map(restorer.feed, chunks(text, sizes))) + restorer.flush()


PARTS = (
    "[", "]", "\\", "\\\\", "%5B", "%5D", "%5F", "%5", "_", "EMAIL", "EMAIL_k3j2h4m5", "[EMAIL_k3j2h4m5]", "NAME",
    "NAME_",
    "[NAME_p2q7xabc]", "p2q7xabc", "[EMAIL]", "DATE_", "1985", "_abcdefgh", "IP", "ADDRESS", "zzz22222", " ", "a",
    "\n", "\\n",
    '"', '\\"', "{", "}", ":", ",", "https://", "evil.example/", "known.example/", "](", "]:", "(", ")", "<", "<a ",
    "href=", ">",
    "'", "//", "é", "IP\\_ADDRESS\\_", "\\]", "\\[", "1", "www.", "&#", "`", "\\u0041", "mailto:",
)  # fmt: skip


class TestAnyChunking:
    @given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join), SIZES, st.integers(0, 3))
    def test_the_parts_together_are_the_whole(self, text: str, sizes: list[int], depth: int):
        assert fed(text, sizes, depth=depth) == restore(text, VAULT, depth)

    @given(texts(), SIZES)
    def test_an_echo_is_what_was_written(self, call: Planted, sizes: list[int]):
        masked = mask([call.text], [call.findings], key=KEY)
        assert fed(masked.texts[0], sizes, masked.vault) == call.first

    @pytest.mark.parametrize("size", range(1, 20))
    @pytest.mark.parametrize(
        "written",
        [
            "[EMAIL_k3j2h4m5]",
            "EMAIL_k3j2h4m5",
            r"\[EMAIL\_k3j2h4m5\]",
            "[email_k3j2h4m5]",
            "[EMAIL]",
            r"\[EMAIL\]",
            "`EMAIL_k3j2h4m5`",
        ],
    )
    def test_every_rewrite_in_every_size(self, written: str, size: int):
        assert (
            fed(f"to {written}, thanks", [size])
            == f"to {written.replace(written.strip('`'), 'jane@example.org')}, thanks"
        )

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_arguments_in_every_size(self, size: int):
        text = json.dumps({"n": "[NAME_p2q7xabc]", "p": json.dumps({"é": "x [NAME_p2q7xabc]"})})
        out = json.loads(fed(text, [size], depth=1))
        assert out["n"] == VALUES["[NAME_p2q7xabc]"]
        assert json.loads(out["p"]) == {"é": f"x {VALUES['[NAME_p2q7xabc]']}"}

    @pytest.mark.parametrize("size", [1, 3, 50])
    def test_an_address_may_begin_long_before_the_token(self, size: int):
        text = f"![x](https://evil.example/{'a' * 3000}?q=[EMAIL_k3j2h4m5]) [EMAIL_k3j2h4m5]"
        assert fed(text, [size]) == text[: -len("[EMAIL_k3j2h4m5]")] + "jane@example.org"


class TestHoldingBack:
    def test_it_tells_how_much(self):
        restorer = Restorer(VAULT)
        counts = [(restorer.feed(piece), restorer.held)[1] for piece in ("a", "b [EM", "", "PTY] c")]
        assert counts == [0, 3, 3, 0]

    def test_what_cannot_become_a_token_goes_out_at_once(self):
        restorer = Restorer(VAULT)
        deltas = ["Dear ", "all, see [", "1] or [PHO", "NE_x] \\", "alpha 5%", " of [EMAIL_z", "EMAIL", "xEMAIL"]
        assert [restorer.feed(each) for each in deltas] == [
            "Dear ", "all, see ", "[1] or [PHO", "NE_x] ", "\\alpha 5", "% of [EMAIL_z", "EMAIL", "xEMAIL",
        ]  # fmt: skip

    def test_one_sign_more_decides_where_brackets_are_missing(self):
        restorer = Restorer(VAULT)
        assert restorer.feed("EMAIL_k3j2h4m5") == ""
        assert restorer.feed(".") == "jane@example.org."
        assert restorer.feed(" EMAIL_k3j2h4m5") == " "
        assert restorer.feed("x") == "EMAIL_k3j2h4m5x"

    def test_at_the_end_nothing_is_kept(self):
        for begun in ("[EMAIL_k3j2h4m5", "[EMAIL_k3", "[", "\\", "%5", "E"):
            restorer = Restorer(VAULT)
            out = restorer.feed(f"x {begun}") + restorer.flush()
            assert out == f"x {begun}".replace("EMAIL_k3j2h4m5", "jane@example.org")
            assert restorer.flush() == ""

    def test_no_part_of_a_token_is_ever_sent(self):
        restorer = Restorer(VAULT)
        out = [restorer.feed(sign) for sign in "to [EMAIL_k3j2h4m5] too"]
        assert out == [*"to ", *[""] * 15, "jane@example.org", *" too"]

    @given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join), st.integers(0, 2))
    def test_no_more_is_held_than_the_longest_form(self, text: str, depth: int):
        restorer = Restorer(VAULT, depth)
        restorer.feed(text)
        longest_value = max(map(len, VALUES.values())) * 3
        assert len(restorer.flush()) <= forms(2 ** (depth + 1) if depth else 1).longest + longest_value

    def test_channels_do_not_know_each_other(self):
        one, other = Restorer(VAULT), Restorer(VAULT)
        assert (one.feed("[EMAIL_"), other.feed("x"), one.feed("k3j2h4m5]"), other.feed("k3j2h4m5]")) == (
            "", "x", "jane@example.org", "k3j2h4m5]",
        )  # fmt: skip

    def test_without_values_everything_goes_out(self):
        restorer = Restorer(Vault({}))
        assert restorer.feed("[EMAIL_") == "[EMAIL_"
        assert restorer.flush() == ""


HOSTILE = (
    "[", "[EMAIL_", "\\", "%5", "[EMAIL_k3j2h4m", "EMAIL_k3j2h4m5 ", "name ", "](", "[[", "<a x=\"",
    "https://a.example/",
    "a.example/ ", "//", '"', '\\"', "{\"", "[{", "[\"\\", "e", "E_", "&", "(", "=", "]: ", "\\u005b", "www.",
)  # fmt: skip


class TestCost:
    @pytest.mark.parametrize("hostile", HOSTILE)
    def test_a_hostile_text_takes_time_in_proportion(self, hostile: str):
        text = hostile * (HOSTILE_LENGTH // len(hostile)) + "[EMAIL_k3j2h4m5]"
        for depth in (0, 1):
            began = time.process_time()
            restore(text, VAULT, depth)
            assert time.process_time() - began < SLOWEST

    @pytest.mark.parametrize("hostile", ["[", "[EMAIL_", "\\", "[EMAIL_k3j2h4m", "[EMAIL_k3j2h4m5]"])
    def test_a_hostile_stream_of_single_signs_too(self, hostile: str):
        restorer = Restorer(VAULT)
        began = time.process_time()
        for sign in hostile * (HOSTILE_LENGTH // 4 // len(hostile)):
            restorer.feed(sign)
        assert time.process_time() - began < SLOWEST

    @pytest.mark.parametrize("around", ["{}", "https://evil.example/{}", '<a x="{} ', "https://known.example/{} "])
    def test_a_text_full_of_tokens_too(self, around: str):
        piece = around.format("[EMAIL_k3j2h4m5]")
        began = time.process_time()
        restore(piece * (HOSTILE_LENGTH // len(piece)), VAULT)
        assert time.process_time() - began < SLOWEST

    def test_ten_thousand_deltas(self):
        text = "The committee will answer within the week, and everyone gets a copy; see [1]. " * 650
        deltas = chunks(text[:50_000], [5])
        began = time.process_time()
        restorer = Restorer(VAULT)
        out = "".join(map(restorer.feed, deltas)) + restorer.flush()
        assert time.process_time() - began < 1.0
        assert out == text[:50_000]
