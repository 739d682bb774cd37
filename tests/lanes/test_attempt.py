from appliance.errors import UpstreamFailed
from appliance.lanes.attempt import AttemptFailed


def test_it_carries_what_the_caller_would_see():
    failed = AttemptFailed(UpstreamFailed("It broke."), elsewhere=True)
    assert (str(failed), failed.elsewhere, failed.reached) == ("It broke.", True, True)
