import sqlite3

import pytest

from appliance.store import allow_lists, workspaces


@pytest.fixture
def legal(started: sqlite3.Connection) -> int:
    workspaces.insert(started, workspace_id="ws_2", name="legal", created_ms=5)
    row = workspaces.by_name(started, "legal")
    assert row is not None
    return row.n


def test_a_list_keeps_its_order_and_is_its_workspaces_own(started: sqlite3.Connection, legal: int):
    allow_lists.put(started, legal, ["mistral", "openai", "ollama"])
    allow_lists.put(started, 1, ["openai"])
    assert allow_lists.get(started, legal) == ("mistral", "openai", "ollama")
    assert allow_lists.all_lists(started) == {1: ("openai",), legal: ("mistral", "openai", "ollama")}


def test_a_new_list_takes_the_place_of_the_old_one_and_an_empty_one_is_none(started: sqlite3.Connection, legal: int):
    allow_lists.put(started, legal, ["mistral", "openai"])
    allow_lists.put(started, legal, ["openai", "mistral"])
    assert allow_lists.get(started, legal) == ("openai", "mistral")
    allow_lists.put(started, legal, [])
    assert allow_lists.get(started, legal) is None
    assert allow_lists.all_lists(started) == {}


def test_who_names_a_provider(started: sqlite3.Connection, legal: int):
    allow_lists.put(started, legal, ["mistral", "openai"])
    allow_lists.put(started, 1, ["openai"])
    assert [row.name for row in allow_lists.naming(started, "openai")] == ["default", "legal"]
    assert [row.name for row in allow_lists.naming(started, "mistral")] == ["legal"]
    assert allow_lists.naming(started, "ollama") == []


def test_a_list_of_no_workspace_or_with_a_name_twice_cannot_be_written(started: sqlite3.Connection):
    with pytest.raises(sqlite3.IntegrityError):
        allow_lists.put(started, 99, ["openai"])
    with pytest.raises(sqlite3.IntegrityError):
        allow_lists.put(started, 1, ["openai", "openai"])
