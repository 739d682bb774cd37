"""The aliases that `GET /v1/models` lists are addresses of ours, and mean what the prefixes mean."""

import pytest

from appliance.calls.address import Address, parse
from appliance.dialects.openai.models import ALIASES, entries


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_no_passthrough(alias: str):
    assert not parse(alias).passthrough


def test_a_listed_agent_is_addressed_by_its_id():
    (*_, listed) = entries(created=0, full_model=None, agents=["demo-cfo"])
    assert parse(listed.id) == Address("agent:demo-cfo", kind="agent", slug="demo-cfo")
