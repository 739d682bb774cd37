-- The CA that issues the gateway's own certificates (gateway.tls = "auto"), made when it is first needed. sealed: its
-- private key, encrypted with the installation's key file.
CREATE TABLE tls_authority (
    n INTEGER PRIMARY KEY CHECK (n = 1),
    certificate BLOB NOT NULL,
    sealed BLOB NOT NULL
) STRICT;
