"""Categories and modes. Source: synapse.md ("PII shield", "Modes")."""

from typing import get_args

from appliance.shield.categories import BY_MODE, MEDICAL, PRIORITY, STANDARD, Category, Mode


def test_the_modes_mask_what_the_seed_lists():
    assert STANDARD == ("EMAIL", "PHONE", "CREDIT_CARD", "IBAN", "SSN", "IP_ADDRESS", "MAC_ADDRESS")
    assert set(MEDICAL) - set(STANDARD) == {"NAME", "DATE", "AGE", "ZIP", "URL", "MRN", "NIR", "NHS_NUMBER", "VIN"}
    assert BY_MODE == {"off": (), "standard": STANDARD, "medical": MEDICAL}
    assert set(BY_MODE) == set(get_args(Mode))


def test_every_category_has_one_place_in_the_priority():
    assert sorted(PRIORITY) == sorted(get_args(Category)) == sorted(MEDICAL)


def test_a_checked_value_comes_before_one_that_lives_by_its_context():
    for checked in ("IBAN", "CREDIT_CARD", "NIR"):
        assert PRIORITY.index(checked) < min(PRIORITY.index(each) for each in ("PHONE", "DATE", "NAME", "ZIP", "AGE"))
