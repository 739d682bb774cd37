"""Source: completions.md, "Automatic extraction"; issue: what is not in the message after normalising is dropped."""

import sys

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.extraction.facts import Fact
from appliance.extraction.reading import facts_in
from tests.waiting import wait_until

SEED = "Hi, I am Marie Lambert, please call me on 06 12 34 56 78 after 5pm."
CATEGORIES = ("contact", "preferences")

PHONE = {"category": "contact", "key": "phone", "value": "06 12 34 56 78", "confidence": 0.97}
WINDOW = {"category": "preferences", "key": "call_window", "value": "after 5pm", "confidence": 0.9}


def answer(*facts: object) -> str:
    return orjson.dumps({"facts": facts}).decode()


def read(*facts: object, message: str = SEED) -> tuple[Fact, ...]:
    return facts_in(answer(*facts), message, CATEGORIES)


def values(value: object, message: str) -> list[str]:
    return [fact.value for fact in read({**PHONE, "value": value}, message=message)]


def test_the_example_of_the_seed():
    assert read(PHONE, WINDOW) == (
        Fact("contact", "phone", "06 12 34 56 78", 0.97),
        Fact("preferences", "call_window", "after 5pm", 0.9),
    )


@pytest.mark.parametrize("end", ["", ",", ',{"category": "cont', ', {"category": "contact", "key": "k", "value": "Ma'])
def test_of_an_answer_that_was_cut_off_what_is_whole_counts(end: str):
    cut = answer(PHONE, WINDOW).removesuffix("]}") + end
    assert facts_in(cut, SEED, CATEGORIES) == read(PHONE, WINDOW)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        '{"facts": [',
        "[]",
        "null",
        "{}",
        '{"facts": null}',
        '{"facts": {}}',
        '{"facts": "x"}',
        '{"facts": [1, null, "x", []]}',
        '{"facts": [{"category": "contact", "key": "phone", "value": "06 12 34 56 78", "confidence": NaN}]}',
        '{"facts": "\ud800"}',
        "[" * 5000,
    ],
)
def test_what_is_not_of_the_shape_holds_no_fact(text: str):
    assert facts_in(text, SEED, CATEGORIES) == ()


@pytest.mark.parametrize(
    "around", ["```json\n{}\n```", "Here are the facts: {} I hope that helps.", "<think>hm</think>\n{}", "  {}\n"]
)
def test_words_around_the_answer_do_no_harm(around: str):
    assert facts_in(around.replace("{}", answer(PHONE)), SEED, CATEGORIES) == read(PHONE)


@pytest.mark.parametrize("key", ["the password is: hunter2", "a/b", "k" * 101, "👍", ""])
def test_a_key_is_a_name(key: str):
    assert read({**PHONE, "key": key}) == ()


class TestValues:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("06 12 34 56 78", "call 0612345678 now"),
            ("0612345678", "call 06 12 34 56 78 now"),
            ("0612345678", "call 06\u00a012\u202f34\n56\t78 now"),
            ("0612345678", "call ０６１２３４５６７８"),
            ("12345", "رقم ١٢٣٤٥"),
            ("Zoé", "I am zoe."),
            ("zoe", "I am ZOÉ!"),
            ("zoe", "I am Zoe\u0301"),
            ("STRASSE", "die Straße"),
            ("Marie  Lambert", "marie\nlambert"),
            (" Marie ", "Marie"),
            ("l'avenue", "l’avenue"),
            ("5 pm", "after 5pm"),
            ("180", "I measure 180cm"),
            ("GB29NWBK60161331926819", "IBAN GB29 NWBK 6016 1331 9268 19."),
            ("田中", "私は田中です"),
            ("12 rue", "au 12 rue"),
            ("👍", "ok 👍"),
            ("C++", "I write C++."),
            ("0612345678", "06-12-34-56-78"),
            ("06 12 34 56 78", "call 06.12.34.56.78."),
            ("06 12 34 56 78", "(06) 12 34 56 78"),
            ("+44 20 7946 0958", "Anna at +44 20 7946 0958."),
            ("2024-01-05", "on 2024-01-05"),
            ("A-4711", "order A-4711."),
            ("12 rue de la Paix", "12 rue de la Paix, Paris"),
        ],
    )
    def test_what_the_message_says(self, value: str, message: str):
        assert values(value, message) == [value.strip()]

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("07 12 34 56 78", SEED),
            ("Marie Dupont", SEED),
            ("marie@example.com", SEED),
            ("", SEED),
            (" \n", SEED),
            ("\u0301", SEED),
            ("\u200b", SEED),
            ("art", "a party"),
            ("12", "in 2012"),
            ("612345678", "0612345678"),
            ("Mari", SEED),
            ("x", ""),
            ("12 34", SEED),
            ("34 56 78", SEED),
            ("500 euros", "1.500 euros"),
            ("250.00", "1,250.00"),
            ("5 kg", "3,5 kg"),
            ("5 degrees", "-5 degrees"),
            ("168.1", "192.168.1.10"),
            (5, "5"),
            (None, "None"),
            (["5"], "5"),
        ],
    )
    def test_what_it_does_not(self, value: object, message: str):
        assert values(value, message) == []

    def test_the_end_of_a_sentence_that_a_model_adds_is_none_of_it(self):
        assert values("Marie Lambert.", "I am Marie Lambert") == ["Marie Lambert"]

    def test_a_later_place_counts_too(self):
        assert values("art", "a party of art") == ["art"]

    def test_as_long_as_it_may_be(self):
        assert values("x" * 2_000, "x" * 2_000) == ["x" * 2_000]
        assert values("x" * 2_001, "x" * 2_001) == []

    def test_a_message_that_is_made_to_take_long(self):
        assert wait_until(lambda: values("a" * 1_999, "a" * 1_000_000) == [], seconds=5) < 5


class TestCategories:
    @pytest.mark.parametrize("given", ["contact", " Contact ", "CONTACT"])
    def test_in_the_spelling_of_who_asked(self, given: str):
        assert [fact.category for fact in read({**PHONE, "category": given})] == ["contact"]

    @pytest.mark.parametrize("given", ["contacts", "other", "", None, 1, ["contact"]])
    def test_another_one_is_dropped(self, given: object):
        assert read({**PHONE, "category": given}, WINDOW) == read(WINDOW)

    def test_two_that_differ_in_case_alone_are_two(self):
        given = answer({**PHONE, "category": "Contact"}, PHONE)
        assert [fact.category for fact in facts_in(given, SEED, ("contact", "Contact"))] == ["Contact", "contact"]


class TestKeys:
    @pytest.mark.parametrize("given", ["call_window", " Call Window ", "call-window", "CALL__WINDOW", "_call window_"])
    def test_one_spelling(self, given: str):
        assert [fact.key for fact in read({**WINDOW, "key": given})] == ["call_window"]

    @pytest.mark.parametrize("given", ["", " ", "_", "x" * 101, "a\x00b", "a\u202eb", None, 7])
    def test_none(self, given: object):
        assert read({**PHONE, "key": given}) == ()

    def test_as_long_as_it_may_be(self):
        assert [len(fact.key) for fact in read({**PHONE, "key": "x" * 100})] == [100]


class TestConfidence:
    @pytest.mark.parametrize(
        ("given", "kept"), [(0, 0.0), (1, 1.0), (0.5, 0.5), (97, 1.0), (-1, 0.0), (1e300, 1.0), (2**64, 1.0)]
    )
    def test_is_from_0_to_1(self, given: float, kept: float):
        text = answer({**PHONE, "confidence": None}).replace("null", str(given))
        (fact,) = facts_in(text, SEED, CATEGORIES)
        assert (fact.confidence, type(fact.confidence)) == (kept, float)

    def test_some_write_it_as_a_string(self):
        (fact,) = read({**PHONE, "confidence": "0.9"})
        assert fact.confidence == 0.9

    @pytest.mark.parametrize("given", ["high", "", "nan", None, True, [1]])
    def test_what_is_no_number(self, given: object):
        assert read({**PHONE, "confidence": given}) == ()

    def test_one_that_is_left_out(self):
        assert read({name: value for name, value in PHONE.items() if name != "confidence"}) == ()


def test_whoever_corrects_themselves_says_what_is_right_last():
    message = "Call 06 12 34 56 78. No, sorry, 07 98 76 54 32."
    first, last = {**PHONE, "confidence": 0.99}, {**PHONE, "value": "07 98 76 54 32", "key": "Phone", "confidence": 0.5}
    assert read(first, last, message=message) == (Fact("contact", "phone", "07 98 76 54 32", 0.5),)


def test_fifty_at_most():
    assert len(read(*({**PHONE, "key": f"k{i}"} for i in range(60)))) == 50


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
TEXTS = st.text(alphabet=st.characters(codec=None), max_size=40)
CLOSE = st.sampled_from(["contact", "Contact", "phone", "Marie", "marie", "06", "0612", "5", "a", " ", "é", "e"])
GIVEN = st.fixed_dictionaries({}, optional=dict.fromkeys(PHONE, JSON | CLOSE))


@given(TEXTS, TEXTS)
def test_no_answer_raises(text: str, message: str):
    assert facts_in(text, message, CATEGORIES) == ()


@given(st.lists(GIVEN | JSON, max_size=5), st.text() | CLOSE, st.lists(CLOSE, max_size=3))
def test_what_is_kept_is_borne_out(given_facts: list[object], message: str, categories: list[str]):
    kept = facts_in(answer(*given_facts), message, categories)
    for fact in kept:
        assert fact.category in categories
        assert 1 <= len(fact.key) <= 100
        assert 0 <= fact.confidence <= 1
        assert facts_in(answer({**PHONE, "value": fact.value}), message, CATEGORIES)
    assert len({(fact.category, fact.key) for fact in kept}) == len(kept)


@given(st.text(alphabet="abZé 0１5\n.", max_size=12), st.text(alphabet="abZé 0１5\n.", max_size=30))
def test_a_value_that_is_kept_stands_in_the_message(value: str, message: str):
    """By a plainer measure than the reader's own: neither spaces, case nor accents."""

    def bare(text: str) -> str:
        return "".join(text.lower().replace("é", "e").replace("１", "1").split())

    for kept in values(value, message):  # without the end of a sentence, where the message has none
        assert bare(kept) in bare(message)
    if value.strip() and f" {value.strip()} " in f" {message} ":
        assert values(value, message)


def test_every_character_can_be_compared():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert values("Marie", everything + " Marie") == ["Marie"]
