import sqlite3
from pathlib import Path
from typing import cast

import pytest

from appliance.errors import StateError
from appliance.store import allow_lists, ledger
from appliance.store import migrate as module
from appliance.store.ledger import LedgerRow
from appliance.store.migrate import migrate, migrations


@pytest.fixture
def conn(tmp_path: Path):
    conn = sqlite3.connect(tmp_path / "synapse.db", isolation_level=None)
    yield conn
    conn.close()


def test_migrations_are_numbered_without_gaps():
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_new_file_gets_the_newest_schema_once(conn: sqlite3.Connection):
    migrate(conn)
    migrate(conn)
    assert conn.execute("PRAGMA user_version").fetchone()[0] == len(migrations())


def test_every_table_has_an_explicit_integer_primary_key(conn: sqlite3.Connection):
    migrate(conn)
    tables = [row[0] for row in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        primary = [row[2] for row in conn.execute(f"PRAGMA table_info({table})") if row[5]]
        assert primary == ["INTEGER"], table


def test_a_newer_schema_is_refused(conn: sqlite3.Connection):
    migrate(conn)
    conn.execute("PRAGMA user_version = 999")
    with pytest.raises(StateError, match="999"):
        migrate(conn)


def test_another_programs_database_is_left_alone(conn: sqlite3.Connection):
    conn.execute("CREATE TABLE theirs (n INTEGER PRIMARY KEY)")
    with pytest.raises(StateError, match="another program"):
        migrate(conn)


def test_a_migration_that_fails_leaves_nothing_behind(conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch):
    broken = [*migrations(), (len(migrations()) + 1, "CREATE TABLE half (n INTEGER PRIMARY KEY); SELECT nonsense;")]
    monkeypatch.setattr(module, "migrations", lambda: broken)
    with pytest.raises(sqlite3.Error):
        migrate(conn)
    assert conn.execute("PRAGMA user_version").fetchone()[0] == len(broken) - 1
    assert not conn.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchone()


def ended(number: int) -> LedgerRow:
    """A call as the first version could have written it, with what is known of it now. Where it was answered, it was by
    a machine here or by a provider outside."""
    ending = ("complete", "length", "context_cut", "refused", "cancelled", "failed")[number % 6]
    asked = ("ollama", "openai", "mistral", "ollama" if ending in ledger.ANSWERED else None)[number % 4]
    return LedgerRow(
        at_ms=number * 30_000_000,
        proof_id=f"prf_more_{number}",
        workspace_n=3,
        key_n=2,
        user_n=4,
        dialect="openai",
        address="pulse-auto",
        ending=ending,
        total_ms=round(1.09**number) - 1,  # one time in every bucket
        task=(None, "code", "simple")[number % 3],
        provider=asked,
        model=asked and f"{asked}-{number % 2}",
        node=f"node_{number % 2}" if asked == "ollama" else None,
        prompt_tokens=number,
        completion_tokens=2 * number,
        questions_milli=250,
        cost_micro=(None, 0, 7)[number % 3],
        full_cost_micro=(None, 50)[number % 2],
        first_token_ms=(None, number)[number % 2],
        masked=number % 4,
        left_building=int(asked in ("openai", "mistral")),
    )


OLDEST = LedgerRow(
    5, "prf_1", 3, 2, 4, "openai", "pulse-auto", "complete", 9, provider="openai", model="gpt-4o", prompt_tokens=1,
    completion_tokens=2, questions_milli=250, left_building=1,
)  # fmt: skip
ROWS = [OLDEST, *(ended(number) for number in range(220))]


def insert_old(conn: sqlite3.Connection, rows: list[LedgerRow]) -> None:
    """As the first version did, which had no word for what left."""
    known = LedgerRow._fields[:-1]
    assert LedgerRow._fields[-1] == "left_building"
    conn.executemany(
        f"INSERT INTO ledger ({', '.join(known)}) VALUES ({', '.join('?' for _ in known)})", [row[:-1] for row in rows]
    )


def rolled_up(conn: sqlite3.Connection) -> dict[str, list[object]]:
    """All of the roll-ups, in an order of their own."""
    found: dict[str, list[object]] = {}
    for table in ("ledger_days", "ledger_groups", "ledger_times"):
        names = ", ".join(one[1] for one in conn.execute(f"PRAGMA table_info({table})") if one[1] != "n")
        found[table] = conn.execute(f"SELECT {names} FROM {table} ORDER BY {names}").fetchall()
    return found


def rolled_up_of(rows: list[LedgerRow]) -> dict[str, list[object]]:
    """What the roll-ups hold after each of these calls."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    migrate(fresh)
    for row in rows:
        ledger.insert(fresh, row)
    found = rolled_up(fresh)
    fresh.close()
    return found


class TestFromVersion1:
    """A database that the first version wrote, with a row in every table that a later migration could touch."""

    @pytest.fixture
    def old(self, conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> sqlite3.Connection:
        with monkeypatch.context() as patch:
            patch.setattr(module, "migrations", lambda: migrations()[:1])
            migrate(conn)
        assert conn.execute("PRAGMA user_version").fetchone()[0] == 1
        conn.executescript(
            """
            INSERT INTO installation VALUES (1, 'office-1', 5);
            INSERT INTO workspaces VALUES (3, 'ws_3', 'legal', 5);
            INSERT INTO users VALUES (4, 'usr_4', 'zoe', 5);
            INSERT INTO keys VALUES (2, 'key_2', x'00', 'laptop', 3, 4, 'engine', 0, NULL, NULL, NULL, 5, NULL);
            INSERT INTO live_settings VALUES (1, 'local.models', '{"full":"qwen3"}');
            INSERT INTO audit VALUES (1, 5, 'zoe', 'model.set', 'full', NULL, '"qwen3"');
            INSERT INTO signing_keys VALUES (1, 'kid', 'certificate', x'01', x'02', 0, NULL);
            INSERT INTO log_entries VALUES (0, 't', x'01', 'kid', x'02', x'03');
            INSERT INTO open_intents VALUES (0, 'prf_1');
            INSERT INTO certificates VALUES (0, 'prf_1', 3);
            INSERT INTO ledger (at_ms, proof_id, workspace_n, key_n, user_n, dialect, address, provider, model,
                prompt_tokens, completion_tokens, questions_milli, total_ms, masked, ending)
                VALUES (5, 'prf_1', 3, 2, 4, 'openai', 'pulse-auto', 'openai', 'gpt-4o', 1, 2, 250, 9, 0, 'complete');
            """
        )
        return conn

    def rows(self, conn: sqlite3.Connection) -> dict[str, list[object]]:
        tables = [row[0] for row in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {table: conn.execute(f"SELECT * FROM {table}").fetchall() for table in tables}

    def test_every_row_is_still_there_and_the_new_tables_hold_what_follows_from_them(self, old: sqlite3.Connection):
        before = self.rows(old)
        migrate(old)
        after = self.rows(old)
        assert all(before.values())
        assert after["workspaces"] == [(3, "ws_3", "legal", 5, None)]
        assert after["users"] == [(*row, None) for row in cast("list[tuple[object, ...]]", before["users"])]
        assert after["certificates"] == [(0, "prf_1", 3, 0)]
        assert after["ledger"] == [(*row, 1) for row in cast("list[tuple[object, ...]]", before["ledger"])]
        widened = ("workspaces", "users", "certificates", "ledger")
        assert {table: after[table] for table in before if table not in widened} == {
            table: rows for table, rows in before.items() if table not in widened
        }
        new = {table: len(rows) for table, rows in after.items() if table not in before}
        rolled_up = {"ledger_days": 1, "ledger_groups": 7, "ledger_times": 7}
        of_facts = {"facts": 0, "fact_slots": 0, "fact_slots_free": 0}
        of_machines = {"nodes": 0, "gateway_identity": 0, "cluster_key": 0}
        of_providers = {"providers": 0, "allow_lists": 0}
        assert new == {"storage_probe": 0, "tls_authority": 0, **of_providers, **of_facts, **of_machines, **rolled_up}

    def test_the_roll_ups_are_those_that_each_call_would_have_made(self, old: sqlite3.Connection):
        insert_old(old, ROWS[1:])
        migrate(old)
        assert rolled_up(old) == rolled_up_of(ROWS)

    def test_of_days_whose_rows_are_gone_it_is_told_what_left_too(
        self, old: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
    ):
        insert_old(old, ROWS[1:])
        with monkeypatch.context() as patch:
            patch.setattr(module, "migrations", lambda: migrations()[:8])
            migrate(old)
        old.execute("DELETE FROM ledger")
        migrate(old)
        assert rolled_up(old) == rolled_up_of(ROWS)

    def test_what_left_is_told_by_who_was_asked_last(self, old: sqlite3.Connection):
        insert_old(old, ROWS[1:])
        migrate(old)
        columns = ", ".join(LedgerRow._fields)
        assert [LedgerRow(*row) for row in old.execute(f"SELECT {columns} FROM ledger ORDER BY n")] == ROWS
        assert {row.provider for row in ROWS} == {None, "ollama", "openai", "mistral"}

    def test_the_file_is_kept_as_it_was(self, old: sqlite3.Connection, tmp_path: Path):
        # operations.md, "Never lose anything": migrations run "after an automatic backup".
        before = self.rows(old)
        (tmp_path / "synapse.db").chmod(0o600)
        (tmp_path / "synapse.db.schema-1.new").write_text("left by a crash")
        migrate(old)
        copy = tmp_path / "synapse.db.schema-1"
        assert copy.stat().st_mode & 0o777 == 0o600
        kept = sqlite3.connect(copy)
        assert self.rows(kept) == before
        assert kept.execute("PRAGMA user_version").fetchone()[0] == 1
        assert kept.execute("PRAGMA application_id").fetchone()[0] == module.APPLICATION_ID
        kept.close()
        assert sorted(file.name for file in tmp_path.iterdir()) == ["synapse.db", "synapse.db.schema-1"]

    def test_a_new_file_and_one_that_is_up_to_date_are_not_copied(self, conn: sqlite3.Connection, tmp_path: Path):
        migrate(conn)
        migrate(conn)
        assert [file.name for file in tmp_path.iterdir()] == ["synapse.db"]

    def test_where_the_copy_cannot_be_made_nothing_is_migrated(self, old: sqlite3.Connection, tmp_path: Path):
        (tmp_path / "synapse.db.schema-1.new").mkdir()
        with pytest.raises(OSError, match=r"schema-1\.new"):
            migrate(old)
        assert old.execute("PRAGMA user_version").fetchone()[0] == 1

    def test_the_schema_is_that_of_a_new_file(self, old: sqlite3.Connection):
        fresh = sqlite3.connect(":memory:", isolation_level=None)
        migrate(old)
        migrate(fresh)
        schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
        assert old.execute(schema).fetchall() == fresh.execute(schema).fetchall()
        fresh.close()

    def test_the_workspace_of_old_can_have_a_list(self, old: sqlite3.Connection):
        migrate(old)
        old.execute("PRAGMA foreign_keys = ON")
        allow_lists.put(old, 3, ["openai"])
        assert allow_lists.all_lists(old) == {3: ("openai",)}
