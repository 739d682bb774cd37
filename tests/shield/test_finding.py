"""What a rule finds. Source: shield.md ("Detection")."""

from appliance.shield.finding import Finding


def test_findings_are_in_the_order_of_their_places():
    late, early, long = Finding(5, 6, "AGE", "a"), Finding(0, 3, "PHONE", "b"), Finding(0, 9, "EMAIL", "c")
    assert sorted([late, long, early]) == [early, long, late]


def test_no_word_had_to_decide_unless_one_is_named():
    assert Finding(0, 1, "PHONE", "French number").context == ""
