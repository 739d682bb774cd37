import time

import pytest

from appliance.shield.finding import Finding
from appliance.shield.known_values import RULE, KnownValues


def found(text: str, *values: str, category: str = "MRN", context: str = "MRN") -> list[str]:
    known = KnownValues()
    for value in values:
        known.add(value, [Finding(0, len(value), category, "a rule", context)])  # pyright: ignore[reportArgumentType]
    return [text[each.start : each.end] for each in known.find(text)]


def test_where_it_stands_again():
    assert found("The file 8472913 is here: 8472913.", "8472913") == ["8472913", "8472913"]
    assert found("scan_8472913_2.pdf", "8472913") == ["8472913"]


@pytest.mark.parametrize("text", ["84729131", "x8472913", "847 2913", "847291", ""])
def test_not_as_part_of_another(text: str):
    assert found(text, "8472913") == []


@pytest.mark.parametrize("text", ["ab-847-291", "AB 847 291", "AB - 847.291"])
def test_signs_and_cases_do_not_matter(text: str):
    assert len(found(text, "AB-847-291")) == (text != "AB - 847.291")


def test_the_longer_of_two_and_the_shorter():
    assert found("123 456 and 123 456 789", "123 456", "123 456 789") == ["123 456", "123 456", "123 456 789"]


@pytest.mark.parametrize("value", ["12345", "abcdefg", " ".join("123456789")])
def test_what_is_written_for_other_things_too(value: str):
    assert found(value, value) == []


def test_a_value_that_nothing_had_to_announce_is_left_to_its_rule():
    assert found("8472913", "8472913", context="") == []


@pytest.mark.parametrize("category", ["NAME", "DATE", "ZIP", "AGE", "URL"])
def test_kinds_that_mean_other_things_elsewhere(category: str):
    assert found("8472913", "8472913", category=category) == []


def test_what_was_found_says_why():
    known = KnownValues()
    assert not known
    known.add("no 8472913", [Finding(3, 10, "MRN", "number beside a word for one", "no")])
    assert known
    assert list(known.find("x 8472913")) == [Finding(2, 9, "MRN", RULE)]


def test_many_values_with_one_beginning_take_linear_time():
    values = [f"111111 {number}" for number in range(4000)]
    text = "111111 " * 100_000
    start = time.perf_counter()
    assert found(text, *values) == []
    assert time.perf_counter() - start < 2
