import pytest

from appliance.calls.context import surely_too_long, was_cut, words


@pytest.mark.parametrize(
    ("words", "reported", "context", "cut"),
    [
        (6_000, 2_050, 4_096, True),  # recorded from Ollama 0.32.15: 6,000 words became 2,050 tokens
        (40_000, 16_386, 32_768, True),
        (3_400, 2_050, 4_096, True),  # the middle of a prompt that was a little too long
        (1_500, 900, 4_096, True),  # whole messages went: no tokenizer makes one token of two words
        (2_036, 2_050, 4_096, False),  # a prompt that happens to have that length, each word a token
        (2_050, 2_050, 4_096, False),
        (31, 2_050, 4_096, False),  # long lines of dashes, many to a token
        (3_000, 3_900, 4_096, False),
        (9_000, 8_000, 4_096, False),  # a machine with a longer context than it was told
        (6_000, 0, 4_096, False),  # it reports nothing
        (12, 30, 4_096, False),
    ],
)
def test_a_cut_is_told_by_what_the_machine_says_it_has_read(words: int, reported: int, context: int, cut: bool):
    assert was_cut(words, reported, context) is cut


def test_only_what_cannot_fit_is_refused_unsent():
    assert surely_too_long(8_193, 1, 4_096)
    assert not surely_too_long(8_192, 1, 4_096)
    assert surely_too_long(10, 2_049, 4_096)
    assert not surely_too_long(10, 2_048, 4_096)


def test_words_stand_between_blanks():
    assert words(["one two\n three", "", "-----", "a\tb"]) == 6
