import pytest

from appliance.errors import BadRequest
from appliance.gateway.queries import number_up_to, whole_number


@pytest.mark.parametrize(("text", "expected"), [("1", 1), ("100", 100), ("007", 7)])
def test_a_number_within_its_limits(text: str, expected: int):
    assert whole_number({"limit": text}, "limit", otherwise=20, most=100) == expected


def test_what_is_not_asked_for():
    assert whole_number({"before": "1"}, "limit", otherwise=20, most=100) == 20


@pytest.mark.parametrize("text", ["", "0", "101", "-1", "1.5", "x", "1" * 10, "٣"])
def test_what_is_none(text: str):
    with pytest.raises(BadRequest, match="`limit` must be a whole number from 1 to 100") as refused:
        whole_number({"limit": text}, "limit", otherwise=20, most=100)
    assert refused.value.param == "limit"


@pytest.mark.parametrize(("text", "expected"), [("1", 1), ("007", 7), ("500", 500), ("501", 500), ("9" * 5_000, 500)])
def test_a_number_that_has_a_most(text: str, expected: int):
    assert number_up_to({"limit": text}, "limit", otherwise=100, most=500) == expected
    assert number_up_to({}, "limit", otherwise=100, most=500) == 100


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "x", "1e3", "٣"])
def test_what_is_no_number_from_1_on(text: str):
    with pytest.raises(BadRequest, match="`limit` must be a whole number, 1 or more") as refused:
        number_up_to({"limit": text}, "limit", otherwise=100, most=500)
    assert refused.value.param == "limit"
