"""Each change with its audit row, and what is refused. On a database in memory."""

import itertools
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from appliance.admin import provider_changes as changes
from appliance.admin.changes import Change
from appliance.admin.policy_wire import NewProvider, OldProvider, Provider, PutProvider
from appliance.admin.wire import Conflict, InvalidInput, UnknownSubject
from appliance.errors import AdminError
from appliance.ids import Ids
from appliance.store import allow_lists, audit, live_settings, providers, workspaces
from appliance.store.defaults import ensure_defaults
from appliance.store.sealing import Sealer

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
SEALER = Sealer(bytes(32))
KEY, OTHER = "sk-the-first-key-nobody-may-see", "sk-another-key-nobody-may-see"
NEW = NewProvider("openai", "openai", key=KEY, full="gpt-4o", fast="gpt-4o-mini")
MADE = Provider(
    "openai",
    "openai",
    "https://api.openai.com/v1",
    "gpt-4o",
    "gpt-4o-mini",
    "2026-11-29T12:00:00.000Z",
    configured=True,
)


@pytest.fixture
def change() -> Change:
    numbers = itertools.count(1)
    return Change("zoe", NOW, Ids(lambda size: next(numbers).to_bytes(size, "big")))


@pytest.fixture
def conn(conn: sqlite3.Connection, change: Change) -> sqlite3.Connection:
    ensure_defaults(conn, NOW, change.ids)
    conn.execute("DELETE FROM audit")
    return conn


def key(conn: sqlite3.Connection, name: str = "openai") -> str:
    row = providers.by_name(conn, name)
    assert row is not None
    return providers.opened(row, SEALER).key


def trail(conn: sqlite3.Connection) -> list[audit.AuditRow]:
    return list(reversed(audit.newest(conn, limit=99)))


class TestPut:
    def test_a_new_one_is_made_and_recorded(self, conn: sqlite3.Connection, change: Change):
        assert changes.put_provider(conn, change, SEALER, NEW) == PutProvider(MADE, None, new_key=True)
        assert key(conn) == KEY
        [row] = trail(conn)
        assert (row.who, row.action, row.subject, row.before) == ("zoe", "provider.put", "openai", None)
        assert row.after == {
            "name": "openai",
            "kind": "openai",
            "base_url": "https://api.openai.com/v1",
            "full": "gpt-4o",
            "fast": "gpt-4o-mini",
            "created": "2026-11-29T12:00:00.000Z",
            "configured": True,
            "full_price": None,
            "fast_price": None,
            "new_key": True,
        }

    def test_without_a_full_model_it_is_there_and_not_configured(self, conn: sqlite3.Connection, change: Change):
        made = changes.put_provider(conn, change, SEALER, replace(NEW, full=None)).provider
        assert (made.full, made.configured) == (None, False)

    def test_what_is_not_given_is_kept(self, conn: sqlite3.Connection, change: Change):
        changes.put_provider(conn, change, SEALER, NEW)
        later = replace(change, at=NOW + timedelta(days=1))
        put = changes.put_provider(conn, later, SEALER, NewProvider("openai", "openai", fast="gpt-5-mini"))
        assert put == PutProvider(replace(MADE, fast="gpt-5-mini"), MADE, new_key=False)
        assert key(conn) == KEY
        assert [row.after["new_key"] for row in trail(conn)] == [True, False]  # type: ignore[index]  an object

    def test_another_key_alone_is_a_change(self, conn: sqlite3.Connection, change: Change):
        changes.put_provider(conn, change, SEALER, NEW)
        put = changes.put_provider(conn, change, SEALER, NewProvider("openai", "openai", key=OTHER))
        assert put == PutProvider(MADE, MADE, new_key=True)
        assert key(conn) == OTHER
        assert len(trail(conn)) == 2

    def test_what_changes_nothing_is_not_recorded(self, conn: sqlite3.Connection, change: Change):
        changes.put_provider(conn, change, SEALER, NEW)
        changes.put_provider(conn, change, SEALER, replace(NEW, key=None))
        changes.put_provider(conn, change, SEALER, NewProvider("openai", "openai"))
        assert len(trail(conn)) == 1

    @pytest.mark.parametrize(
        "other",
        [
            NewProvider("eu", "openai-compatible", "https://elsewhere.example.com/v1"),
            NewProvider("eu", "mistral"),
            NewProvider("eu", "openai", "https://api.openai.com/v1"),
        ],
    )
    def test_a_key_goes_to_no_server_that_it_was_not_given_for(
        self, conn: sqlite3.Connection, change: Change, other: NewProvider
    ):
        first = NewProvider("eu", "openai-compatible", "https://eu.example.com/v1", KEY, "m", "s")
        changes.put_provider(conn, change, SEALER, first)
        with pytest.raises(InvalidInput, match="the key must be given again") as caught:
            changes.put_provider(conn, change, SEALER, other)
        assert "https://eu.example.com/v1" in caught.value.message
        assert key(conn, "eu") == KEY
        put = changes.put_provider(conn, change, SEALER, replace(other, key=OTHER))
        assert (put.provider.full, put.provider.fast) == (None, None)
        assert key(conn, "eu") == OTHER

    def test_the_url_is_kept_with_the_kind(self, conn: sqlite3.Connection, change: Change):
        changes.put_provider(conn, change, SEALER, replace(NEW, base_url="https://eu.example.com/v1"))
        put = changes.put_provider(conn, change, SEALER, NewProvider("openai", "openai", full="gpt-5"))
        assert put.provider.base_url == "https://eu.example.com/v1"

    @pytest.mark.parametrize(
        ("new", "message"),
        [
            (replace(NEW, name=""), "That is no provider's name."),
            (replace(NEW, name="OpenAI"), "That is no provider's name."),
            (replace(NEW, name="-x"), "That is no provider's name."),
            (replace(NEW, name="a/b"), "That is no provider's name."),
            (replace(NEW, name="a b"), "That is no provider's name."),
            (replace(NEW, name="a\n"), "That is no provider's name."),
            (replace(NEW, name="é"), "That is no provider's name."),
            (replace(NEW, name="x" * 33), "That is no provider's name."),
            (replace(NEW, name="ollama"), "ollama is this installation's own machines"),
            (replace(NEW, name="anthropic"), "A provider called anthropic would be taken for anthropic itself"),
            (replace(NEW, name="openai-compatible"), "A provider called openai-compatible would be taken for"),
            (replace(NEW, name="rack", kind="openai-compatible"), "A provider of the kind openai-compatible has no"),
            (replace(NEW, base_url="http://api.openai.com/v1"), "The base URL is not encrypted"),
            (replace(NEW, key=None), "A new provider needs its key. Add --key-stdin"),
            (replace(NEW, key=""), "The key holds a space"),
            (replace(NEW, key="sk-a b"), "The key holds a space"),
            (replace(NEW, key="sk-a\n"), "The key holds a space"),
            (replace(NEW, key="sk-a\x00"), "The key holds a space"),
            (replace(NEW, key="sk-é"), "The key holds a space"),
            (replace(NEW, key="x" * 4097), "The key holds a space"),
            (replace(NEW, full=""), "That is no model's name."),
            (replace(NEW, fast=" gpt"), "That is no model's name."),
            (replace(NEW, fast="x" * 257), "That is no model's name."),
        ],
    )
    def test_what_is_refused_and_quotes_no_key(
        self, conn: sqlite3.Connection, change: Change, new: NewProvider, message: str
    ):
        with pytest.raises(AdminError) as caught:
            changes.put_provider(conn, change, SEALER, new)
        assert str(caught.value).startswith(message)
        assert not new.key or new.key not in str(caught.value)
        assert caught.value.advice
        assert (providers.list_all(conn), trail(conn)) == ([], [])

    def test_no_key_is_in_the_database_whatever_happened_to_it(self, conn: sqlite3.Connection, change: Change):
        changes.put_provider(conn, change, SEALER, NEW)
        changes.put_provider(conn, change, SEALER, NewProvider("openai", "openai", key=OTHER))
        changes.remove_provider(conn, change, OldProvider("openai"))
        dump = "\n".join(conn.iterdump()).lower()
        for secret in (KEY, OTHER):
            assert secret.lower() not in dump
            assert secret.encode().hex() not in dump


class TestRemove:
    def test_it_is_gone_and_recorded(self, conn: sqlite3.Connection, change: Change):
        changes.put_provider(conn, change, SEALER, NEW)
        gone = changes.remove_provider(conn, change, OldProvider("openai"))
        assert (gone.provider, gone.active, gone.listed, gone.refused) == (MADE, False, (), ())
        assert providers.list_all(conn) == []
        row = trail(conn)[-1]
        assert (row.action, row.subject, row.after) == ("provider.remove", "openai", None)
        assert row.before["full"] == "gpt-4o"  # type: ignore[index]  an object

    def test_who_still_names_it_is_told_and_changed_in_nothing(self, conn: sqlite3.Connection, change: Change):
        """Fail closed: a list that lost its last name would be no list, and its calls would go elsewhere."""
        changes.put_provider(conn, change, SEALER, NEW)
        changes.put_provider(conn, change, SEALER, NewProvider("mistral", "mistral", key=KEY, full="large"))
        changes.put_provider(conn, change, SEALER, NewProvider("half", "mistral", key=KEY))
        lists = {"a": ["openai"], "b": ["openai", "mistral"], "c": ["openai", "ollama"], "d": ["half", "openai"]}
        for name, listed in (*lists.items(), ("e", ["mistral"])):
            workspaces.insert(conn, workspace_id=f"ws_{name}", name=name, created_ms=1)
            row = workspaces.by_name(conn, name)
            assert row is not None
            allow_lists.put(conn, row.n, listed)
        live_settings.put(conn, live_settings.ACTIVE_PROVIDER, "openai")
        before = allow_lists.all_lists(conn)
        gone = changes.remove_provider(conn, change, OldProvider("openai"))
        assert (gone.active, gone.listed, gone.refused) == (True, ("a", "b", "c", "d"), ("a", "d"))
        assert allow_lists.all_lists(conn) == before
        assert live_settings.get(conn, live_settings.ACTIVE_PROVIDER) == "openai"

    @pytest.mark.parametrize(("name", "advice"), [("opanai", 'Did you mean "openai"?'), ("zzz", "synapse provider")])
    def test_no_such_provider(self, conn: sqlite3.Connection, change: Change, name: str, advice: str):
        changes.put_provider(conn, change, SEALER, NEW)
        with pytest.raises(UnknownSubject, match=f'There is no provider "{name}"') as caught:
            changes.remove_provider(conn, change, OldProvider(name))
        assert caught.value.advice.startswith(advice)


class TestSeen:
    def test_who_looked_before_somebody_elses_change_is_told_of_it(self, conn: sqlite3.Connection, change: Change):
        rita, both_saw = replace(change, who="rita"), changes.revision(conn)
        changes.put_provider(conn, rita, SEALER, replace(NEW, seen=both_saw))
        with pytest.raises(Conflict, match=r"rita has changed the provider openai meanwhile \(provider\.put"):
            changes.put_provider(conn, change, SEALER, replace(NEW, key=OTHER, seen=both_saw))
        with pytest.raises(Conflict):
            changes.remove_provider(conn, change, OldProvider("openai", both_saw))
        assert key(conn) == KEY
        changes.remove_provider(conn, change, OldProvider("openai", changes.revision(conn)))

    def test_one_that_is_gone_meanwhile_is_not_made_again(self, conn: sqlite3.Connection, change: Change):
        changes.put_provider(conn, change, SEALER, NEW)
        both_saw = changes.revision(conn)
        changes.remove_provider(conn, change, OldProvider("openai", both_saw))
        with pytest.raises(Conflict, match=r"provider\.remove"):
            changes.put_provider(conn, change, SEALER, replace(NEW, seen=both_saw))

    def test_another_provider_is_no_conflict(self, conn: sqlite3.Connection, change: Change):
        both_saw = changes.revision(conn)
        changes.put_provider(conn, change, SEALER, NEW)
        changes.put_provider(conn, change, SEALER, replace(NEW, name="eu", seen=both_saw))
