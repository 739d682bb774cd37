"""That the page of the metrics and the dashboard say what is exported: names, kinds and labels."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from appliance.calls.call import Ending
from appliance.calls.policy import LOCAL_PROVIDER
from appliance.metering.metrics import NONE, Metrics
from tests.metering.ended import NOW, OUTSIDE

DOCS = Path(__file__).parents[2] / "docs"
DASHBOARD = json.loads((DOCS / "grafana/synapse.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
WIDTH = 24
"""Columns of a dashboard of Grafana."""

METRIC = re.compile(r"(synapse_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')


def exported() -> dict[str, tuple[str, set[str]]]:
    """Kind and labels of every metric, by the name that its `# TYPE` line has."""
    metrics = Metrics("1")
    metrics.ended(OUTSIDE, {"EMAIL": 1}.items())
    metrics.stalled(0.1)
    metrics.failed("overloaded")
    families = text_string_to_metric_families(metrics.text(NOW).decode())
    return {
        family.name + ("_total" if family.type == "counter" else ""): (
            family.type,
            {label for sample in family.samples for label in sample.labels} - {"le"},
        )
        for family in families
    }


def series() -> dict[str, set[str]]:
    """Labels of every series that can be asked for."""
    found: dict[str, set[str]] = {}
    for name, (kind, labels) in exported().items():
        if kind == "histogram":
            found |= {f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels}
        else:
            found[name] = labels
    return found


def problems(expression: str, legend: str = "") -> list[str]:
    """What an expression asks for that is not there."""
    known, wrong = series(), list[str]()
    metrics = METRIC.findall(expression)
    wrong += [f"{name} is not exported" for name, _ in metrics if name not in known]
    there = set[str].intersection(*(known.get(name, set()) for name, _ in metrics)) if metrics else set[str]()
    wrong += [
        f"{name} has no label {label}"
        for name, matchers in metrics
        for label, _ in MATCHER.findall(matchers)
        if label not in known.get(name, set())
    ]
    grouped = [{one.strip() for one in group.split(",")} for group in re.findall(r"\bby \(([^)]*)\)", expression)]
    kept = (
        set[str].intersection(*grouped) if grouped else there if not re.search(r"\bsum\b", expression) else set[str]()
    )
    wrong += [f"there is no label {label} to group by" for group in grouped for label in sorted(group - there)]
    wrong += [f"the legend names {label}" for label in re.findall(r"\{\{(\w+)\}\}", legend) if label not in kept]
    counted = any(name.endswith(("_total", "_bucket")) for name, _ in metrics)
    if counted and not re.search(r"\b(rate|increase)\(", expression):
        wrong.append("a counter is shown as it is")
    return wrong


def test_the_page_lists_every_metric_with_its_kind_and_its_labels():
    section = (DOCS / "gateway.md").read_text().partition("\n## Metrics\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", section, re.M)
    assert {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows} == exported()
    assert len(rows) == len(exported())


@pytest.mark.parametrize(("title", "target"), EXPRESSIONS, ids=[f"{title} {t['refId']}" for title, t in EXPRESSIONS])
def test_the_dashboard_asks_for_what_there_is(title: str, target: dict[str, Any]):
    expression: str = target["expr"]
    assert METRIC.search(expression)
    assert problems(expression, target["legendFormat"]) == []
    assert expression.count("(") == expression.count(")")
    for _, matchers in METRIC.findall(expression):
        for label, value in MATCHER.findall(matchers):
            allowed = {"ending": get_args(Ending), "provider": (LOCAL_PROVIDER, NONE), "node": (NONE,)}[label]
            assert set(value.split("|")) <= set(allowed)


def test_every_metric_is_on_the_dashboard():
    asked = {name for _, target in EXPRESSIONS for name, _ in METRIC.findall(target["expr"])}
    assert {re.sub(r"_bucket$", "", name) for name in asked} == exported().keys()


def test_panels_do_not_overlap_and_fit():
    places = {
        panel["id"]: {
            (x, y)
            for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        }
        for panel in DASHBOARD["panels"]
    }
    assert len(places) == len(DASHBOARD["panels"])
    assert [pair for pair in combinations(places, 2) if places[pair[0]] & places[pair[1]]] == []
    assert all(0 <= x < WIDTH for place in places.values() for x, _ in place)


def test_the_dashboard_can_be_imported_anywhere():
    assert DASHBOARD["schemaVersion"] >= 39
    assert "id" not in DASHBOARD  # one that is there already would be written over
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["type"], variable["query"], variable["name"]) == ("datasource", "prometheus", "datasource")
    for panel in PANELS:
        assert panel["description"].endswith(".")
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert sources == [{"type": "prometheus", "uid": "${datasource}"}] * len(sources)
        named = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]}
        legends = {target["legendFormat"] for target in panel["targets"]}
        assert named <= (set(get_args(Ending)) if legends == {"{{ending}}"} else legends)


class TestTheCheckItself:
    @pytest.mark.parametrize(
        ("expression", "legend", "wrong"),
        [
            ("sum by (ending) (rate(synapse_calls_total[5m]))", "{{ending}}", []),
            ("rate(synapse_calls_total[5m])", "{{node}}", []),
            ("sum(rate(synapse_call_total[5m]))", "", ["synapse_call_total is not exported"]),
            ('rate(synapse_calls_total{model="m"}[5m])', "", ["synapse_calls_total has no label model"]),
            ("sum by (key) (rate(synapse_calls_total[5m]))", "", ["there is no label key to group by"]),
            ("sum by (node) (rate(synapse_calls_total[5m]))", "{{task}}", ["the legend names task"]),
            ("sum(rate(synapse_calls_total[5m]))", "{{task}}", ["the legend names task"]),
            ("synapse_calls_total", "", ["a counter is shown as it is"]),
        ],
    )
    def test_it_can_fail(self, expression: str, legend: str, wrong: list[str]):
        assert problems(expression, legend) == wrong
