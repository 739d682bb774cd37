"""The lists that are package data. Source: their own format, which each file's head explains."""

import pytest

from appliance.shield.lexicon import fold
from appliance.shield.word_lists import sections

AS_WRITTEN = {"long initials", "british areas"}


def test_a_section_is_its_words_without_comments():
    assert sections("cues.txt")["labels of anything"] == {"name", "nome", "naam", "names"}


@pytest.mark.parametrize("file", ["names.txt", "clinical.txt", "cues.txt", "records.txt"])
def test_every_word_is_folded_so_that_it_can_be_found(file: str):
    words = {word for name, of in sections(file).items() if name not in AS_WRITTEN for word in of}
    assert {word for word in words if fold(word) != word} == set()
