"""What is named after people. Expected values are the words beside the names in the examples."""

import pytest

from appliance.shield.eponyms import belongs_to
from appliance.shield.lexicon import lexicon


def beside(text: str) -> str:
    """For the name between the bars."""
    before, name, after = text.split("|")
    return belongs_to(before + name + after, len(before), len(before + name), lexicon())


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("syndrome de |Guillain Barre|", "syndrome"),
        ("|Paul Cushing|'s disease", "disease"),
        ("the |Wells| score", "score"),
        ("anneau de |Carpentier| posé", "anneau"),
        ("Hôpital |Robert Debré|", "hopital"),
        ("|Johns Hopkins| Hospital", "hospital"),
        ("12 rue |Victor Hugo|", "rue"),
        ("123 av. |Jean Jaurès|", "av"),
        ("C/ |Carmen Romero|, 23", "c/"),
    ],
)
def test_a_name_beside_a_head_is_no_person(text: str, head: str):
    assert beside(text) == head


@pytest.mark.parametrize(
    "text",
    [
        "vu par |Paul Martin| ce jour",
        "maladie. |Paul Martin|",
        "syndrome chez |Paul Martin|",
        "rue X, |Paul Martin|",
        "|Paul Martin|, hospital",
        "|Ann Lee| - Project Manager",
    ],
)
def test_a_head_further_off_says_nothing(text: str):
    assert beside(text) == ""
