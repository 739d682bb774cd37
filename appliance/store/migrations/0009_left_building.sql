-- left_building: 1 where a call was sent to anybody outside, whoever answered it in the end. Of the calls that are there
-- already nothing but who was asked last is known: one that was sent outside and then answered by a machine here counts
-- as stayed, and so does one that a crash has cut off.
ALTER TABLE ledger ADD COLUMN left_building INTEGER NOT NULL DEFAULT 0 CHECK (left_building IN (0, 1));
UPDATE ledger SET left_building = 1 WHERE provider NOT IN ('', 'ollama');

-- It ends in the row number without naming it, as the others do.
CREATE INDEX ledger_by_left ON ledger (left_building, at_ms);

ALTER TABLE ledger_days RENAME TO ledger_days_before;
CREATE TABLE ledger_days (
    n INTEGER PRIMARY KEY,
    day INTEGER NOT NULL,
    workspace_n INTEGER NOT NULL,
    key_n INTEGER NOT NULL,
    user_n INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    node TEXT NOT NULL,
    task TEXT NOT NULL,
    ending TEXT NOT NULL,
    left_building INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    questions_milli INTEGER NOT NULL,
    cost_micro INTEGER NOT NULL,
    cost_unknown INTEGER NOT NULL,
    full_cost_micro INTEGER NOT NULL,
    saved_micro INTEGER NOT NULL,
    masked INTEGER NOT NULL,
    UNIQUE (day, workspace_n, key_n, user_n, provider, model, node, task, ending, left_building)
) STRICT;
INSERT INTO ledger_days (
    n, day, workspace_n, key_n, user_n, provider, model, node, task, ending, left_building, calls, prompt_tokens,
    completion_tokens, questions_milli, cost_micro, cost_unknown, full_cost_micro, saved_micro, masked
)
SELECT
    n, day, workspace_n, key_n, user_n, provider, model, node, task, ending, provider NOT IN ('', 'ollama'), calls,
    prompt_tokens, completion_tokens, questions_milli, cost_micro, cost_unknown, full_cost_micro, saved_micro, masked
FROM ledger_days_before;
DROP TABLE ledger_days_before;
CREATE INDEX ledger_days_by_key ON ledger_days (key_n, day);

-- One dimension more: 'left', whose grp is 0 or 1.
INSERT INTO ledger_groups (
    dimension, grp, day, calls, prompt_tokens, completion_tokens, questions_milli, cost_micro, cost_unknown,
    full_cost_micro, saved_micro, masked
)
SELECT
    'left', left_building, day, sum(calls), sum(prompt_tokens), sum(completion_tokens), sum(questions_milli),
    sum(cost_micro), sum(cost_unknown), sum(full_cost_micro), sum(saved_micro), sum(masked)
FROM ledger_days
GROUP BY left_building, day;

-- The rows of long ago are gone, but an answered call that no machine here has answered was answered outside.
INSERT INTO ledger_times (dimension, grp, day, bucket, first_tokens, totals)
SELECT 'left', grp = '', day, bucket, sum(first_tokens), sum(totals)
FROM ledger_times
WHERE dimension = 'node'
GROUP BY grp = '', day, bucket;
