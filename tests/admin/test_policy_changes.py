"""Each change with its audit row, and what is refused. On a database in memory."""

import itertools
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from appliance.admin import policy_changes as changes
from appliance.admin import policy_wire as wire
from appliance.admin.changes import Change
from appliance.admin.policy_wire import NewAllowList
from appliance.admin.wire import Conflict, InvalidInput, UnknownSubject
from appliance.ids import Ids
from appliance.store import allow_lists, audit, live_settings, providers, workspaces
from appliance.store.defaults import ensure_defaults
from appliance.store.providers import ProviderRow

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def change() -> Change:
    numbers = itertools.count(1)
    return Change("zoe", NOW, Ids(lambda size: next(numbers).to_bytes(size, "big")))


@pytest.fixture
def conn(conn: sqlite3.Connection, change: Change) -> sqlite3.Connection:
    ensure_defaults(conn, NOW, change.ids)
    for name, full in (("openai", "gpt-4o"), ("mistral", "large"), ("half", None)):
        providers.put(conn, ProviderRow(name, "openai", "https://x", full, None, 1, b"sealed"))
    workspaces.insert(conn, workspace_id="ws_legal", name="legal", created_ms=1)
    conn.execute("DELETE FROM audit")
    return conn


def trail(conn: sqlite3.Connection) -> list[tuple[str, str, object, object]]:
    return [(row.action, row.subject, row.before, row.after) for row in reversed(audit.newest(conn, limit=99))]


class TestAllowList:
    def test_it_is_written_in_order_replaced_and_cleared(self, conn: sqlite3.Connection, change: Change):
        of = changes.set_allow_list(conn, change, NewAllowList(("mistral", "openai", "ollama"), "legal"))
        assert of.name == "legal"
        assert allow_lists.get(conn, of.n) == ("mistral", "openai", "ollama")
        changes.set_allow_list(conn, change, NewAllowList(("openai", "mistral"), "legal"))
        changes.clear_allow_list(conn, change, "legal")
        assert allow_lists.all_lists(conn) == {}
        assert trail(conn) == [
            ("policy.allow", "ws_legal", None, ["mistral", "openai", "ollama"]),
            ("policy.allow", "ws_legal", ["mistral", "openai", "ollama"], ["openai", "mistral"]),
            ("policy.clear", "ws_legal", ["openai", "mistral"], None),
        ]

    def test_without_a_name_it_is_the_default_workspaces(self, conn: sqlite3.Connection, change: Change):
        assert changes.set_allow_list(conn, change, NewAllowList(("openai",))).name == "default"
        assert changes.clear_allow_list(conn, change, None).name == "default"

    def test_what_changes_nothing_is_not_recorded(self, conn: sqlite3.Connection, change: Change):
        changes.clear_allow_list(conn, change, None)
        changes.set_allow_list(conn, change, NewAllowList(("openai",)))
        changes.set_allow_list(conn, change, NewAllowList(("openai",)))
        assert len(trail(conn)) == 1

    def test_one_that_is_not_configured_yet_can_be_listed(self, conn: sqlite3.Connection, change: Change):
        changes.set_allow_list(conn, change, NewAllowList(("half",)))
        assert allow_lists.get(conn, 1) == ("half",)

    @pytest.mark.parametrize(
        ("names", "workspace", "kind", "message"),
        [
            (("mistrl",), None, UnknownSubject, 'There is no provider "mistrl". Did you mean "mistral"?'),
            (("openai", "olama"), None, UnknownSubject, 'There is no provider "olama". Did you mean "ollama"?'),
            (("zzz",), None, UnknownSubject, 'There is no provider "zzz". synapse provider list shows them'),
            ((), None, InvalidInput, "An allow-list names 1 to 100 providers. synapse policy clear"),
            (("openai",) * 101, None, InvalidInput, "An allow-list names 1 to 100 providers."),
            (("openai", "ollama", "openai"), None, InvalidInput, "openai is named twice."),
            (("openai",), "legl", UnknownSubject, 'There is no workspace "legl". Did you mean "legal"?'),
        ],
    )
    def test_what_is_refused(
        self,
        conn: sqlite3.Connection,
        change: Change,
        names: tuple[str, ...],
        workspace: str | None,
        kind: type[Exception],
        message: str,
    ):
        with pytest.raises(kind) as caught:
            changes.set_allow_list(conn, change, NewAllowList(names, workspace))
        assert str(caught.value).startswith(message)
        assert (allow_lists.all_lists(conn), trail(conn)) == ({}, [])


class TestSeen:
    """Two administrators who edit at once: the second is told, and nothing is overwritten unseen."""

    @pytest.fixture
    def rita(self, change: Change) -> Change:
        return replace(change, who="rita")

    def test_who_looked_before_somebody_elses_change_is_told_of_it(
        self, conn: sqlite3.Connection, change: Change, rita: Change
    ):
        of = changes.workspace(conn, "legal")
        both_saw = changes.revision(conn, of)
        changes.set_allow_list(conn, rita, NewAllowList(("openai",), "legal", both_saw))
        with pytest.raises(Conflict, match=r"rita has changed the policy meanwhile \(policy\.allow, 2026-11-29T12:00"):
            changes.set_allow_list(conn, change, NewAllowList(("mistral",), "legal", both_saw))
        with pytest.raises(Conflict):
            changes.clear_allow_list(conn, change, "legal", both_saw)
        assert allow_lists.get(conn, of.n) == ("openai",)
        changes.set_allow_list(conn, change, NewAllowList(("mistral",), "legal", changes.revision(conn, of)))
        assert allow_lists.get(conn, of.n) == ("mistral",)

    def test_what_holds_for_all_counts_for_each_workspace(self, conn: sqlite3.Connection, change: Change):
        seen = changes.revision(conn, changes.workspace(conn, "legal"))
        changes.set_unscannable(conn, change, wire.NewChoice("allow", seen))
        with pytest.raises(Conflict):
            changes.set_allow_list(conn, change, NewAllowList(("openai",), "legal", seen))
        with pytest.raises(Conflict):
            changes.set_active(conn, change, wire.NewActive("openai", seen))
        with pytest.raises(Conflict):
            changes.set_sensitive_on_open(conn, change, wire.NewChoice("allow", seen))

    def test_another_workspaces_list_is_no_conflict(self, conn: sqlite3.Connection, change: Change):
        seen = changes.revision(conn, changes.workspace(conn, "legal"))
        changes.set_allow_list(conn, change, NewAllowList(("openai",)))
        changes.set_allow_list(conn, change, NewAllowList(("openai",), "legal", seen))

    def test_who_has_not_looked_changes_it_whatever_it_is(self, conn: sqlite3.Connection, change: Change):
        changes.set_allow_list(conn, change, NewAllowList(("openai",), "legal"))
        changes.set_allow_list(conn, change, NewAllowList(("mistral",), "legal"))

    def test_a_change_that_changed_nothing_is_no_conflict(self, conn: sqlite3.Connection, change: Change):
        seen = changes.revision(conn, changes.workspace(conn, "legal"))
        changes.set_unscannable(conn, change, wire.NewChoice("refuse", seen))
        changes.set_unscannable(conn, change, wire.NewChoice("allow", seen))


class TestSettings:
    def test_the_active_provider(self, conn: sqlite3.Connection, change: Change):
        changes.set_active(conn, change, wire.NewActive("ollama"))
        changes.set_active(conn, change, wire.NewActive("openai"))
        changes.set_active(conn, change, wire.NewActive("openai"))
        assert live_settings.get(conn, live_settings.ACTIVE_PROVIDER) == "openai"
        changes.set_active(conn, change, wire.NewActive("ollama"))
        assert trail(conn) == [
            ("policy.active", "installation", "ollama", "openai"),
            ("policy.active", "installation", "openai", "ollama"),
        ]

    def test_one_that_could_answer_nobody_is_refused(self, conn: sqlite3.Connection, change: Change):
        with pytest.raises(InvalidInput, match=r"half has no full model.*provider add half"):
            changes.set_active(conn, change, wire.NewActive("half"))
        with pytest.raises(UnknownSubject, match=r'There is no provider "opena"\. Did you mean "openai"'):
            changes.set_active(conn, change, wire.NewActive("opena"))
        assert live_settings.get(conn, live_settings.ACTIVE_PROVIDER) is None

    def test_refuse_or_allow(self, conn: sqlite3.Connection, change: Change):
        changes.set_unscannable(conn, change, wire.NewChoice("refuse"))
        changes.set_unscannable(conn, change, wire.NewChoice("allow"))
        changes.set_sensitive_on_open(conn, change, wire.NewChoice("allow"))
        assert live_settings.get(conn, live_settings.UNSCANNABLE) == "allow"
        assert live_settings.get(conn, live_settings.SENSITIVE_ON_OPEN) == "allow"
        assert trail(conn) == [
            ("policy.unscannable", "installation", "refuse", "allow"),
            ("policy.sensitive-on-open", "installation", "refuse", "allow"),
        ]
