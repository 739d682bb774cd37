"""Which task a call is: deterministic rules, the first that matches wins, no model is asked.

Must not know providers or models: that is routing.
Source: synapse.md ("How the task is decided"), routing.md ("Task").
"""

from typing import Literal

from appliance.calls.address import Address
from appliance.calls.estimate import Prompt

ExplicitTask = Literal["simple", "extraction", "complex", "code"]
"""What a caller inside the appliance may say about its own call; nobody on the wire can."""

Task = Literal["sensitive", "agent"] | ExplicitTask

HARNESS_CHARACTERS = 8_000
"""System text longer than this is an agent harness's operating instructions."""

COMPLEX_TOKENS = 500
"""Prompts estimated at this many tokens or more are complex."""


def agentic(address: Address, prompt: Prompt) -> bool:
    """Whether a small model would derail the call: a tool loop, a harness, or the caller's own word."""
    return address.full or prompt.tools > 0 or prompt.system_characters > HARNESS_CHARACTERS or prompt.tool_turns


def task(
    address: Address,
    prompt: Prompt,
    *,
    local_lane: bool,
    explicit: ExplicitTask | None = None,
    personal_data_found: bool = False,
) -> Task:
    """The task of a call. `local_lane`: one exists; without it a sensitive address changes nothing.

    `personal_data_found` is what the shield said, False where it did not scan.
    """
    is_agentic = agentic(address, prompt)
    if local_lane and (address.sensitive or (personal_data_found and not is_agentic)):
        return "sensitive"
    if is_agentic:
        return "agent"
    if explicit is not None:
        return explicit
    return "complex" if prompt.json_mode or prompt.tokens >= COMPLEX_TOKENS else "simple"
