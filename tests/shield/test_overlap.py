"""Overlaps. Source: shield.md ("Detection": priority picks the category, the mask covers the union)."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.categories import MEDICAL, PRIORITY
from appliance.shield.finding import Finding
from appliance.shield.overlap import settle

FINDINGS = st.builds(
    lambda start, length, category: Finding(start, start + length, category, "rule"),
    st.integers(0, 40),
    st.integers(1, 12),
    st.sampled_from(MEDICAL),
)


def test_the_union_is_called_by_the_category_with_priority():
    phone, iban = Finding(5, 12, "PHONE", "French number", "tel"), Finding(0, 9, "IBAN", "check digits")
    assert settle([phone, iban]) == [Finding(0, 12, "IBAN", "check digits")]


def test_one_inside_another_adds_nothing_to_its_width():
    assert settle([Finding(0, 20, "PHONE", "a"), Finding(3, 7, "EMAIL", "b")]) == [Finding(0, 20, "EMAIL", "b")]


def test_what_only_touches_stays_apart():
    both = [Finding(0, 5, "PHONE", "a"), Finding(5, 9, "PHONE", "b")]
    assert settle(reversed(both)) == both


def test_nothing_found():
    assert settle([]) == []


@given(st.lists(FINDINGS, max_size=12))
def test_whatever_was_covered_is_covered_once_in_order(findings: list[Finding]):
    settled = settle(findings)
    assert {place for each in findings for place in range(each.start, each.end)} == {
        place for each in settled for place in range(each.start, each.end)
    }
    assert all(one.end <= other.start for one, other in pairwise(settled))


@given(st.lists(FINDINGS, min_size=1, max_size=12))
def test_each_is_called_by_the_first_in_priority_of_what_it_covers(findings: list[Finding]):
    for each in settle(findings):
        inside = [one.category for one in findings if each.start <= one.start and one.end <= each.end]
        assert each.category == min(inside, key=PRIORITY.index)
