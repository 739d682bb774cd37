-- The external providers. sealed: the provider's key, encrypted with the installation's key file and bound to the name.
CREATE TABLE providers (
    n INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    base_url TEXT NOT NULL,
    sealed BLOB NOT NULL,
    full_model TEXT,
    fast_model TEXT,
    created_ms INTEGER NOT NULL
) STRICT;

-- Whom a workspace may use, best first: rank counts from 0. A workspace without rows has no list. A name stays
-- when its provider is removed: a list that shrank to nothing would be no list, and calls would go elsewhere.
CREATE TABLE allow_lists (
    n INTEGER PRIMARY KEY,
    workspace_n INTEGER NOT NULL REFERENCES workspaces (n),
    rank INTEGER NOT NULL,
    provider TEXT NOT NULL,
    UNIQUE (workspace_n, rank),
    UNIQUE (workspace_n, provider)
) STRICT;
