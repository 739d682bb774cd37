import sqlite3
from dataclasses import replace

import pytest

from appliance.errors import StateError
from appliance.store import providers
from appliance.store.providers import OpenProvider, ProviderRow
from appliance.store.sealing import Sealer

KEY = "sk-a-key-that-nobody-may-see"
SEALER = Sealer(bytes(32))


def row(name: str = "openai") -> ProviderRow:
    sealed = providers.seal_key(SEALER, name, KEY)
    return ProviderRow(name, "openai", "https://api.openai.com/v1", "gpt-4o", None, 5, sealed)


def test_a_provider_comes_back_as_it_was_put(conn: sqlite3.Connection):
    providers.put(conn, row("b"))
    providers.put(conn, row("a"))
    found = providers.by_name(conn, "a")
    assert found is not None
    assert (found.kind, found.base_url, found.full, found.fast, found.created_ms) == (
        "openai",
        "https://api.openai.com/v1",
        "gpt-4o",
        None,
        5,
    )
    assert [one.name for one in providers.list_all(conn)] == ["b", "a"]
    assert providers.by_name(conn, "A") is None


def test_another_of_its_name_takes_its_place(conn: sqlite3.Connection):
    providers.put(conn, row("a"))
    providers.put(conn, row("b"))
    changed = replace(row("a"), kind="mistral", base_url="https://x", full=None, fast="small", created_ms=9)
    providers.put(conn, changed)
    assert providers.list_all(conn) == [changed, providers.by_name(conn, "b")]


def test_a_removed_one_is_gone_with_its_key(conn: sqlite3.Connection):
    providers.put(conn, row())
    sealed = row().sealed.hex()
    providers.remove(conn, "openai")
    assert providers.list_all(conn) == []
    assert sealed not in "\n".join(conn.iterdump())


def test_the_key_opens_with_the_installations_key_file_alone(conn: sqlite3.Connection):
    providers.put(conn, row())
    assert providers.opened(providers.list_all(conn)[0], SEALER) == OpenProvider(
        "openai", "openai", "https://api.openai.com/v1", "gpt-4o", None, KEY
    )
    with pytest.raises(StateError, match="does not open with this key file"):
        providers.opened(row(), Sealer(b"1" * 32))


def test_a_key_is_bound_to_its_provider():
    """So that whoever can write to the database cannot send one provider's key to another's address."""
    with pytest.raises(StateError, match="'provider:mistral' does not open"):
        providers.opened(replace(row("openai"), name="mistral"), SEALER)


def test_the_key_is_in_no_dump_of_the_database_and_no_repr(conn: sqlite3.Connection):
    providers.put(conn, row())
    for hidden in (KEY, KEY.encode().hex()):
        assert hidden not in "\n".join(conn.iterdump()).lower()
    assert KEY not in repr(providers.opened(row(), SEALER))
    assert "sealed" not in repr(row())
