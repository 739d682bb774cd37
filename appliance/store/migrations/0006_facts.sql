-- What a model found in what a user said (completions.md, "Extracted data"). A value has a slot, so that it can be
-- overwritten where it stands: store/slots.py says why. bytes: how many of the slot's are the value's.
CREATE TABLE facts (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_n INTEGER NOT NULL REFERENCES users (n),
    source TEXT NOT NULL,
    category TEXT NOT NULL,
    key TEXT NOT NULL,
    slot_n INTEGER NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    confidence REAL NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    UNIQUE (user_n, source, category, key)
) STRICT;
-- Each ends in the row number without naming it.
CREATE INDEX facts_by_user ON facts (user_n, updated_ms);
CREATE INDEX facts_by_source ON facts (user_n, source, updated_ms);
CREATE INDEX facts_by_category ON facts (user_n, category, updated_ms);

CREATE TABLE fact_slots (
    n INTEGER PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

-- The slots that hold zeros, to be used again. size: bytes.
CREATE TABLE fact_slots_free (
    n INTEGER PRIMARY KEY,
    size INTEGER NOT NULL
) STRICT;
CREATE INDEX fact_slots_free_by_size ON fact_slots_free (size);
