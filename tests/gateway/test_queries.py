import pytest

from appliance.errors import BadRequest
from appliance.gateway.queries import whole_number


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
