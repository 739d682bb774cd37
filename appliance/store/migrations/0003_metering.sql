ALTER TABLE workspaces ADD COLUMN allowance_milli INTEGER;
