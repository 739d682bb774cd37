"""The allow-lists: whom the calls of a workspace may reach, in the administrator's order. Names only."""

import sqlite3
from collections.abc import Sequence

from appliance.store.workspaces import WorkspaceRow


def put(conn: sqlite3.Connection, workspace_n: int, names: Sequence[str]) -> None:
    """Write the workspace's list, best first, in place of any that it had. An empty one is none."""
    conn.execute("DELETE FROM allow_lists WHERE workspace_n = ?", (workspace_n,))
    conn.executemany(
        "INSERT INTO allow_lists (workspace_n, rank, provider) VALUES (?, ?, ?)",
        [(workspace_n, rank, name) for rank, name in enumerate(names)],
    )


def get(conn: sqlite3.Connection, workspace_n: int) -> tuple[str, ...] | None:
    """The workspace's list, None where it has none."""
    return all_lists(conn).get(workspace_n)


def all_lists(conn: sqlite3.Connection) -> dict[int, tuple[str, ...]]:
    """Every list by its workspace's row number."""
    lists: dict[int, tuple[str, ...]] = {}
    for workspace_n, name in conn.execute("SELECT workspace_n, provider FROM allow_lists ORDER BY workspace_n, rank"):
        lists[workspace_n] = (*lists.get(workspace_n, ()), name)
    return lists


def naming(conn: sqlite3.Connection, provider: str) -> list[WorkspaceRow]:
    """The workspaces whose list names the provider, oldest first."""
    rows = conn.execute(
        "SELECT workspaces.n, id, name, created_ms, allowance_milli FROM workspaces"
        " JOIN allow_lists ON allow_lists.workspace_n = workspaces.n WHERE provider = ? ORDER BY workspaces.n",
        (provider,),
    )
    return [WorkspaceRow(*row) for row in rows]
