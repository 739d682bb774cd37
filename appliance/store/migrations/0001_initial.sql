-- Times are integer milliseconds since the epoch (…_ms), UTC. Every table has an explicit INTEGER PRIMARY KEY,
-- so that row numbers are never reused behind the log's back.

CREATE TABLE installation (
    n INTEGER PRIMARY KEY CHECK (n = 1),
    id TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE workspaces (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL
) STRICT;

-- digest: SHA-256 of the key; the key itself is shown once and never stored.
CREATE TABLE keys (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    workspace_n INTEGER NOT NULL REFERENCES workspaces (n),
    user_n INTEGER NOT NULL REFERENCES users (n),
    scopes TEXT NOT NULL,
    read_only INTEGER NOT NULL DEFAULT 0,
    ceiling_milli INTEGER,
    requests_per_minute INTEGER,
    expires_ms INTEGER,
    created_ms INTEGER NOT NULL,
    revoked_ms INTEGER
) STRICT;

CREATE TABLE live_settings (
    n INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE audit (
    n INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    before TEXT,
    after TEXT
) STRICT;

-- sealed: the private key, encrypted with the installation's key file. first/last: log indexes it signs.
CREATE TABLE signing_keys (
    n INTEGER PRIMARY KEY,
    keyid TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    public BLOB NOT NULL,
    sealed BLOB NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER
) STRICT;

-- The log: one row an entry, `n` is the log index (from 0, without gaps). entry: SHA-256 of the signed message.
CREATE TABLE log_entries (
    n INTEGER PRIMARY KEY,
    payload_type TEXT NOT NULL,
    body BLOB NOT NULL,
    keyid TEXT NOT NULL,
    signature BLOB NOT NULL,
    entry BLOB NOT NULL
) STRICT;

-- Intents whose certificate is still to come: empty but for calls in flight.
CREATE TABLE open_intents (
    log_index INTEGER PRIMARY KEY REFERENCES log_entries (n),
    proof_id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE certificates (
    log_index INTEGER PRIMARY KEY REFERENCES log_entries (n),
    proof_id TEXT NOT NULL UNIQUE,
    workspace_n INTEGER NOT NULL REFERENCES workspaces (n)
) STRICT;
CREATE INDEX certificates_by_workspace ON certificates (workspace_n, log_index);

-- One row a call, no text. questions_milli: thousandths of a question. cost…_micro: micro-dollars, NULL where unknown.
CREATE TABLE ledger (
    n INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    proof_id TEXT NOT NULL UNIQUE,
    workspace_n INTEGER NOT NULL REFERENCES workspaces (n),
    key_n INTEGER NOT NULL REFERENCES keys (n),
    user_n INTEGER NOT NULL REFERENCES users (n),
    dialect TEXT NOT NULL,
    address TEXT NOT NULL,
    task TEXT,
    tier TEXT,
    provider TEXT,
    model TEXT,
    node TEXT,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    questions_milli INTEGER NOT NULL,
    cost_micro INTEGER,
    full_cost_micro INTEGER,
    queue_ms INTEGER,
    first_token_ms INTEGER,
    total_ms INTEGER NOT NULL,
    masked INTEGER NOT NULL,
    ending TEXT NOT NULL
) STRICT;
