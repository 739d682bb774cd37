from datetime import UTC, datetime

import pytest

from appliance.admin.ledger_wire import By, Which
from tui.asked import ANY, Asked, problem

NOW = datetime(2026, 11, 29, 18, 57, 3, tzinfo=UTC)
EMPTY = dict.fromkeys(("since", "until", "workspace", "key", "model", "node", "task"), "") | {"ending": ANY}


def test_all_calls_at_first():
    assert Asked().which(NOW) == Which()
    assert Asked().words(NOW) == "all calls"


def test_the_days_one_after_another():
    asked, seen = Asked(), list[tuple[str, str | None, str | None]]()
    for _ in range(4):
        asked = asked.next_day()
        which = asked.which(NOW)
        seen.append((asked.words(NOW), which.since, which.until))
    assert seen == [
        ("today 2026-11-29 (UTC)", "2026-11-29T00:00:00+00:00", "2026-11-30T00:00:00+00:00"),
        ("yesterday 2026-11-28 (UTC)", "2026-11-28T00:00:00+00:00", "2026-11-29T00:00:00+00:00"),
        ("7 days 2026-11-23 to 2026-11-29 (UTC)", "2026-11-23T00:00:00+00:00", "2026-11-30T00:00:00+00:00"),
        ("all calls", None, None),
    ]
    assert Asked(span="typed", since="2026-11-01").next_day() == Asked(span="today")


def test_a_day_by_name_goes_with_the_clock():
    later = datetime(2026, 11, 30, 0, 0, 1, tzinfo=UTC)
    assert Asked(span="today").words(later) == "today 2026-11-30 (UTC)"


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        ("2026-11-01", "2026-11-28", "2026-11-01 to 2026-11-28 (UTC)"),
        ("2026-11-28", "2026-11-28", "2026-11-28 (UTC)"),
        ("2026-11-01", "", "from 2026-11-01 on (UTC)"),
        ("12h", "", "from 12h ago on (UTC)"),
        ("", "2026-11-28", "until 2026-11-28 (UTC)"),
    ],
)
def test_a_span_that_was_typed(since: str, until: str, words: str):
    assert Asked(span="typed", since=since, until=until).words(NOW) == words


def test_everything_at_once():
    asked = Asked("yesterday", "", "", "legal", "n8n", "qwen3", "-", "simple", "context_cut", left=True)
    assert asked.which(NOW) == Which(
        since="2026-11-28T00:00:00+00:00",
        until="2026-11-29T00:00:00+00:00",
        workspace="legal",
        key="n8n",
        model="qwen3",
        node="",
        task="simple",
        ending="context_cut",
        left=True,
    )
    assert asked.words(NOW) == (
        "yesterday 2026-11-28 (UTC), left the building only, workspace legal, key n8n, model qwen3, no machine,"
        " task simple, ending context cut"
    )
    assert Asked(left=False).words(NOW) == "all calls, stayed in the building only"


def test_only_what_left_and_all_again():
    assert Asked().turned() == Asked(left=True)
    assert Asked(left=True).turned() == Asked()
    assert Asked(left=False).turned() == Asked(left=True)


def test_what_begins_within_a_day():
    assert Asked(span="typed", since="12h").cut_days()
    assert not Asked(span="typed", since="2026-11-01").cut_days()
    assert not Asked(span="today").cut_days()


def test_whether_a_new_call_can_be_among_them():
    assert Asked().may_grow(NOW)
    assert Asked(span="today").may_grow(NOW)
    assert not Asked(span="yesterday").may_grow(NOW)


def test_the_form_shows_what_is_asked_for_and_gives_it_back():
    asked = Asked(span="today", key="n8n", ending="failed")
    given = {field.name: field.value for field in asked.fields(NOW)}
    assert (given["since"], given["until"]) == ("2026-11-29", "2026-11-29")
    assert asked.filled(given, NOW) == asked
    assert asked.filled({**given, "since": "30d", "until": ""}, NOW) == Asked(
        span="typed", since="30d", key="n8n", ending="failed"
    )
    assert asked.filled(EMPTY, NOW) == Asked()


def test_an_empty_form_means_all():
    assert Asked().filled(EMPTY, NOW) == Asked()
    assert {field.name: field.value for field in Asked().fields(NOW)} == EMPTY


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, ""),
        ({"since": "30d", "until": "2026-11-30"}, ""),
        ({"since": "soon"}, "Since: a date such as 2026-11-01, or how long ago, such as 30d, 12h or 2w."),
        ({"until": "12h"}, "Until: a date such as 2026-11-30."),
        ({"since": "2026-11-30", "until": "2026-11-29"}, "The span ends before it begins."),
    ],
)
def test_what_makes_no_sense(given: dict[str, str], wrong: str):
    assert problem({**EMPTY, **given}, NOW) == wrong


@pytest.mark.parametrize(
    ("by", "group", "found"),
    [
        ("day", "2026-11-28", Asked(span="typed", since="2026-11-28", until="2026-11-28", task="code")),
        ("key", "n8n (scanner) (key_abc)", Asked(key="key_abc", task="code")),
        ("workspace", "legal", Asked(workspace="legal", task="code")),
        ("model", "qwen3", Asked(model="qwen3", task="code")),
        ("model", "", Asked(model="-", task="code")),
        ("node", "accueil", Asked(node="accueil", task="code")),
        ("task", "", Asked(task="-")),
        ("left", "left", Asked(left=True, task="code")),
        ("left", "stayed", Asked(left=False, task="code")),
    ],
)
def test_the_calls_of_one_group(by: By, group: str, found: Asked):
    assert Asked(task="code", by=by).narrowed(group) == found
    assert Asked().narrowed("anything") == Asked()
