"""The task of a call. Sources: synapse.md ("How the task is decided", "Sensitive calls"), routing.md ("Task")."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.address import Address, parse
from appliance.calls.classify import ExplicitTask, agentic, task
from appliance.calls.estimate import Prompt

SHORT = Prompt(characters=120)  # a 20-word question
LONG = Prompt(characters=18_000)  # a 3 000-word contract


@pytest.mark.parametrize(
    ("model", "prompt", "expected"),
    [
        # synapse.md, the table "You send | Resolved task | Tier", row by row.
        ("pulse-auto", SHORT, "simple"),
        ("pulse-auto", LONG, "complex"),
        ("pulse-auto", replace(SHORT, json_mode=True), "complex"),
        ("pulse-auto", replace(SHORT, tools=1), "agent"),
        ("gpt-4o", replace(SHORT, tools=1), "agent"),
        ("pulse-agent", SHORT, "agent"),
        ("pulse-sensitive", SHORT, "sensitive"),
        ("pulse-auto+sensitive", LONG, "sensitive"),
        ("gpt-4o", SHORT, "simple"),
        ("any-unknown-name", LONG, "complex"),
        # synapse.md, rule 1 before rule 2: a sensitive call stays, whatever else it is.
        ("pulse-sensitive+agent", SHORT, "sensitive"),
        ("pulse-sensitive", replace(LONG, tools=3, tool_turns=True), "sensitive"),
        ("agent:cfo+sensitive", SHORT, "sensitive"),
        # Rule 2: what makes a call agentic.
        ("pulse-auto+agent", SHORT, "agent"),
        ("gpt-4o+agent", SHORT, "agent"),
        ("pulse-auto", Prompt(characters=8_001, system_characters=8_001), "agent"),
        ("pulse-auto", Prompt(characters=8_000, system_characters=8_000), "complex"),
        ("pulse-auto", replace(SHORT, tool_turns=True), "agent"),
        ("pulse-auto", Prompt(characters=9_000, system_characters=100), "complex"),
        ("agent:cfo", SHORT, "simple"),
        # Rule 5: 500 tokens or more are complex.
        ("pulse-auto", Prompt(characters=1_996), "simple"),
        ("pulse-auto", Prompt(characters=1_997), "complex"),
        ("", Prompt(characters=0), "simple"),
    ],
)
def test_task_where_a_local_lane_exists(model: str, prompt: Prompt, expected: str):
    assert task(parse(model), prompt, local_lane=True) == expected


@pytest.mark.parametrize(
    ("model", "prompt", "expected"),
    [
        ("pulse-sensitive", SHORT, "simple"),
        ("pulse-sensitive", LONG, "complex"),
        ("pulse-auto+sensitive+agent", SHORT, "agent"),
        ("pulse-auto+sensitive", replace(SHORT, tools=1), "agent"),
    ],
)
def test_without_a_local_lane_the_sensitive_address_changes_nothing(model: str, prompt: Prompt, expected: str):
    """routing.md, "A local lane exists"."""
    assert task(parse(model), prompt, local_lane=False) == expected


@pytest.mark.parametrize(
    ("model", "prompt", "lane", "expected"),
    [
        ("pulse-auto", SHORT, True, "sensitive"),
        ("gpt-4o", LONG, True, "sensitive"),
        ("pulse-auto", SHORT, False, "simple"),
        ("pulse-auto", LONG, False, "complex"),
        # synapse.md: the escalation is skipped for agentic traffic.
        ("pulse-agent", SHORT, True, "agent"),
        ("pulse-auto", replace(SHORT, tools=1), True, "agent"),
        ("pulse-auto", replace(SHORT, tool_turns=True), True, "agent"),
        ("pulse-auto", Prompt(characters=8_001, system_characters=8_001), True, "agent"),
    ],
)
def test_personal_data_found(model: str, prompt: Prompt, lane: bool, expected: str):
    """routing.md, "Auto sensitive"."""
    assert task(parse(model), prompt, local_lane=lane, personal_data_found=True) == expected


@pytest.mark.parametrize("explicit", get_args(ExplicitTask))
@pytest.mark.parametrize("prompt", [SHORT, LONG, replace(SHORT, json_mode=True)])
def test_an_explicit_task_comes_before_the_classifier(explicit: ExplicitTask, prompt: Prompt):
    assert task(parse("pulse-auto"), prompt, local_lane=True, explicit=explicit) == explicit


@pytest.mark.parametrize("explicit", get_args(ExplicitTask))
def test_and_after_sensitive_and_agent(explicit: ExplicitTask):
    assert task(parse("pulse-sensitive"), SHORT, local_lane=True, explicit=explicit) == "sensitive"
    assert task(parse("pulse-agent"), SHORT, local_lane=True, explicit=explicit) == "agent"
    found = task(parse("pulse-auto"), SHORT, local_lane=True, explicit=explicit, personal_data_found=True)
    assert found == "sensitive"


PROMPTS = st.builds(
    Prompt, st.integers(0, 20_000), st.integers(0, 20_000), st.integers(0, 3), st.booleans(), st.booleans()
)
ADDRESSES = st.builds(Address, st.just("m"), sensitive=st.booleans(), full=st.booleans(), passthrough=st.booleans())


@given(ADDRESSES, PROMPTS, st.booleans(), st.booleans())
def test_the_first_matching_rule_wins(address: Address, prompt: Prompt, lane: bool, found: bool):
    decided = task(address, prompt, local_lane=lane, personal_data_found=found)
    if lane and address.sensitive:
        assert decided == "sensitive"
    elif agentic(address, prompt):
        assert decided == "agent"
    elif lane and found:
        assert decided == "sensitive"
    else:
        assert decided in ("simple", "complex")


@given(PROMPTS, st.booleans(), st.booleans())
def test_a_passthrough_is_classified_like_pulse_auto(prompt: Prompt, lane: bool, found: bool):
    """model-addressing.md, "Prefixes": any other name is routed like `pulse-auto`."""
    decided = {
        task(parse(model), prompt, local_lane=lane, personal_data_found=found) for model in ("pulse-auto", "gpt-4o", "")
    }
    assert len(decided) == 1
