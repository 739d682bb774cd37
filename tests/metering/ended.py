"""Calls that have ended, and a moment, for the tests of what is counted."""

from appliance.metering.metrics import Now
from appliance.store.ledger import LedgerRow

NOW = Now(
    calls_in_flight=2,
    bodies_waiting=3,
    machines_waited_for=4,
    writes_waiting=5,
    endings_waiting=7,
    longest_stall=0.25,
    log_entries=12,
)
LOCAL = LedgerRow(
    at_ms=1_780_000_000_000, proof_id="prf_x", workspace_n=1, key_n=2, user_n=3, dialect="openai",
    address="gpt-4o+sensitive", ending="complete", total_ms=1500, task="simple", tier="fast", provider="ollama",
    model="llama3.2", node="node_abc", prompt_tokens=7, completion_tokens=3, questions_milli=250, first_token_ms=200,
)  # fmt: skip
OUTSIDE = LOCAL._replace(dialect="anthropic", provider="anthropic", model="claude", node=None, questions_milli=4000)
REFUSED = LedgerRow(
    at_ms=0, proof_id="prf_y", workspace_n=1, key_n=2, user_n=3, dialect="openai", address="", ending="refused",
    total_ms=4,
)  # fmt: skip
