-- The machines that an administrator has decided about; the others are candidates, and are kept nowhere. trust: 'pinned'
-- machines have a certificate (DER), 'open' ones are known by their address. url: where it was last reached. sealed: an
-- open machine's bearer key, encrypted with the installation's key file and bound to the id. ca: PEM. way: how it was
-- let in. state: 'admitted', 'draining', 'rejected' (a candidate that is not to be shown again) or 'revoked'.
CREATE TABLE nodes (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    trust TEXT NOT NULL CHECK (trust IN ('pinned', 'open')),
    kind TEXT NOT NULL CHECK (kind IN ('ollama', 'openai-compatible')),
    url TEXT NOT NULL,
    certificate BLOB,
    sealed BLOB,
    ca TEXT,
    slots INTEGER,
    way TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('admitted', 'draining', 'rejected', 'revoked')),
    changed_ms INTEGER NOT NULL
) STRICT;

-- What nodes know this gateway by. sealed: the private key, encrypted with the installation's key file.
CREATE TABLE gateway_identity (
    n INTEGER PRIMARY KEY CHECK (n = 1),
    certificate BLOB NOT NULL,
    sealed BLOB NOT NULL
) STRICT;

-- The cluster key in force, if there is one. sealed: its secret. uses: how many nodes may still join with it, NULL for
-- any number.
CREATE TABLE cluster_key (
    n INTEGER PRIMARY KEY CHECK (n = 1),
    sealed BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    uses INTEGER
) STRICT;
