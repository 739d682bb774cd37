"""Counts of ended calls in Prometheus' text format, read by the library's own parser."""

from typing import Any

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from appliance.metering.metrics import CONTENT_TYPE, NONE, Metrics, Now
from tests.metering.ended import LOCAL, NOW, OUTSIDE, REFUSED

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: Metrics, now: Now = NOW) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.text(now).decode())
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("1.2.3")


def test_a_local_call_is_counted(metrics: Metrics):
    metrics.ended(LOCAL, ())
    metrics.ended(LOCAL, ())
    found = samples(metrics)
    labels = {"task": "simple", "tier": "fast", "provider": "ollama", "node": "node_abc"}
    assert value(found, "synapse_calls_total", dialect="openai", ending="complete", **labels) == 2
    assert value(found, "synapse_tokens_total", provider="ollama", direction="prompt") == 14
    assert value(found, "synapse_tokens_total", provider="ollama", direction="completion") == 6
    assert value(found, "synapse_questions_total", provider="ollama") == 0.5
    assert value(found, "synapse_first_token_seconds_sum", provider="ollama") == pytest.approx(0.4)
    assert value(found, "synapse_first_token_seconds_bucket", provider="ollama", le="0.1") == 0
    assert value(found, "synapse_first_token_seconds_bucket", provider="ollama", le="0.25") == 2
    assert value(found, "synapse_call_duration_seconds_sum", provider="ollama") == pytest.approx(3)
    assert value(found, "synapse_call_duration_seconds_bucket", provider="ollama", le="1.0") == 0
    assert value(found, "synapse_call_duration_seconds_bucket", provider="ollama", le="2.5") == 2


def test_a_call_that_left_names_no_machine_and_counts_what_was_masked(metrics: Metrics):
    metrics.ended(OUTSIDE, {"EMAIL": 2, "DATE": 1}.items())
    found = samples(metrics)
    labels = {"task": "simple", "tier": "fast", "provider": "anthropic", "node": NONE}
    assert value(found, "synapse_calls_total", dialect="anthropic", ending="complete", **labels) == 1
    assert value(found, "synapse_masked_values_total", category="EMAIL") == 2
    assert value(found, "synapse_masked_values_total", category="DATE") == 1
    assert value(found, "synapse_questions_total", provider="anthropic") == 4


def test_a_call_that_asked_nobody_is_counted_and_no_more(metrics: Metrics):
    metrics.ended(REFUSED, ())
    calls = [(name, dict(labels)) for name, labels in samples(metrics) if "provider" in dict(labels)]
    nothing = {"task": NONE, "tier": NONE, "provider": NONE, "node": NONE}
    assert calls == [("synapse_calls_total", {"dialect": "openai", "ending": "refused", **nothing})]


def test_a_call_without_a_first_token_has_a_time_all_the_same(metrics: Metrics):
    metrics.ended(LOCAL._replace(ending="failed", first_token_ms=None), ())
    found = samples(metrics)
    assert value(found, "synapse_first_token_seconds_count", provider="ollama") is None
    assert value(found, "synapse_call_duration_seconds_count", provider="ollama") == 1


def test_what_is_so_now(metrics: Metrics):
    metrics.stalled(0.2)
    found = samples(metrics)
    assert value(found, "synapse_build_info", version="1.2.3") == 1
    assert value(found, "synapse_calls_in_flight") == 2
    assert value(found, "synapse_calls_queued", resource="memory") == 3
    assert value(found, "synapse_calls_queued", resource="machine") == 4
    assert value(found, "synapse_writer_backlog", kind="writes") == 5
    assert value(found, "synapse_writer_backlog", kind="endings") == 7
    assert value(found, "synapse_event_loop_longest_stall_seconds") == 0.25
    assert value(found, "synapse_event_loop_stall_seconds_sum") == pytest.approx(0.2)
    assert value(found, "synapse_event_loop_stall_seconds_bucket", le="0.25") == 1
    assert value(found, "synapse_certificate_log_entries") == 12


def test_what_is_not_known_is_left_out(metrics: Metrics):
    unknown = Now(0, 0, 0, 0, 0, 0.0)
    assert value(samples(metrics, unknown), "synapse_certificate_log_entries") is None


def test_nothing_of_a_caller_or_of_a_model_is_told(metrics: Metrics):
    metrics.ended(LOCAL, ())
    metrics.ended(OUTSIDE, {"EMAIL": 1}.items())
    text = metrics.text(NOW).decode()
    for secret in ("prf_", "gpt-4o", "+sensitive", "llama3", "claude", "1780000000000"):
        assert secret not in text


def test_addresses_and_keys_make_no_series(metrics: Metrics):
    metrics.ended(LOCAL, ())
    before = samples(metrics).keys()
    for n in range(1000):
        metrics.ended(LOCAL._replace(address=f"m{n}", model=f"m{n}", key_n=n, user_n=n, workspace_n=n), ())
    assert samples(metrics).keys() == before


def test_every_metric_has_its_conventional_name_and_a_help_text(metrics: Metrics):
    metrics.ended(OUTSIDE, {"EMAIL": 1}.items())
    for line in metrics.text(NOW).decode().splitlines():
        if line.startswith("# HELP "):
            name, text = line.removeprefix("# HELP ").split(" ", 1)
            assert name.startswith("synapse_")
            assert text.endswith(".")
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split()
            # prometheus.io, "Metric and label naming".
            assert (kind == "counter") == name.endswith("_total")
            assert kind != "histogram" or name.endswith("_seconds")
    assert "_created" not in metrics.text(NOW).decode()
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")


def test_the_registry_is_its_own(metrics: Metrics):
    Metrics("another")
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("synapse")]


def test_what_cannot_be_counted_fails_nothing(metrics: Metrics, caplog: pytest.LogCaptureFixture):
    broken: Any = LOCAL._replace(total_ms="long")  # type: ignore[arg-type]
    metrics.ended(broken, ())
    assert "a call could not be counted: TypeError" in caplog.messages
