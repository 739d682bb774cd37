-- Certificates that only the administrator sees, and the log: those of POST /v1/ai/complete, which gives its callers none.
ALTER TABLE certificates ADD COLUMN internal INTEGER NOT NULL DEFAULT 0 CHECK (internal IN (0, 1));

-- What a workspace's keys see is found without passing over the others.
DROP INDEX certificates_by_workspace;
CREATE INDEX certificates_by_workspace ON certificates (workspace_n, log_index) WHERE internal = 0;
