-- When a user was erased: the row stays as a tombstone that certificates and the ledger lead to; its name is its id.
ALTER TABLE users ADD COLUMN erased_ms INTEGER;
