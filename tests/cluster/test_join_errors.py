import pytest

from appliance.cluster.join_errors import ANSWERED, Failure, JoinError


@pytest.mark.parametrize("failure", Failure)
def test_each_failure_says_what_happened_and_what_to_do(failure: Failure):
    error = JoinError(failure)
    assert error.failure is failure
    assert error.message.endswith(".")
    assert error.advice.endswith(".")


def test_what_a_node_answers():
    assert {failure.value for failure in ANSWERED} == {
        "not_told",
        "not_my_gateway",
        "claimed",
        "too_many",
        "bad_message",
        "way_not_offered",
        "not_proven",
        "not_stored",
    }
