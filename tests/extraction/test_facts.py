import dataclasses

import pytest

from appliance.extraction.facts import Fact


def test_a_fact_stays_what_it_is():
    fact = Fact("contact", "phone", "06 12 34 56 78", 0.97)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fact.value = "07"  # type: ignore[misc]  that is what is tested
