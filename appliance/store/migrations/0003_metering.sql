-- A workspace's questions a calendar month, in thousandths; NULL: it has no allowance.
ALTER TABLE workspaces ADD COLUMN allowance_milli INTEGER;

-- Each ends in the row number without naming it, so that a page goes on exactly where the one before ended.
CREATE INDEX ledger_by_time ON ledger (at_ms);
CREATE INDEX ledger_by_workspace ON ledger (workspace_n, at_ms);
CREATE INDEX ledger_by_key ON ledger (key_n, at_ms);
CREATE INDEX ledger_by_model ON ledger (model, at_ms);
CREATE INDEX ledger_by_node ON ledger (node, at_ms);
CREATE INDEX ledger_by_task ON ledger (task, at_ms);
CREATE INDEX ledger_by_ending ON ledger (ending, at_ms);

-- The roll-ups outlive the rows that they sum up. day: whole days since the epoch, UTC. What a call never reached
-- is '' here. cost…_micro: of the calls whose cost is known; cost_unknown counts the others. saved_micro: what the
-- full model would have cost more, over the calls of which both costs are known.
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
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    questions_milli INTEGER NOT NULL,
    cost_micro INTEGER NOT NULL,
    cost_unknown INTEGER NOT NULL,
    full_cost_micro INTEGER NOT NULL,
    saved_micro INTEGER NOT NULL,
    masked INTEGER NOT NULL,
    UNIQUE (day, workspace_n, key_n, user_n, provider, model, node, task, ending)
) STRICT;
CREATE INDEX ledger_days_by_key ON ledger_days (key_n, day);

-- The same sums by one dimension alone ('all', 'workspace', 'key', 'model', 'node' or 'task'): a few rows a day,
-- where ledger_days has one for every combination. grp: the row number or name; '' for 'all'.
CREATE TABLE ledger_groups (
    n INTEGER PRIMARY KEY,
    dimension TEXT NOT NULL,
    grp ANY NOT NULL,
    day INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    questions_milli INTEGER NOT NULL,
    cost_micro INTEGER NOT NULL,
    cost_unknown INTEGER NOT NULL,
    full_cost_micro INTEGER NOT NULL,
    saved_micro INTEGER NOT NULL,
    masked INTEGER NOT NULL,
    UNIQUE (dimension, grp, day)
) STRICT;

-- How long the calls took that a model answered: how many first tokens and whole answers came within the bucket.
-- bucket 0 is 0 ms; bucket k begins at 2^((k-1)/4) ms.
CREATE TABLE ledger_times (
    n INTEGER PRIMARY KEY,
    dimension TEXT NOT NULL,
    grp ANY NOT NULL,
    day INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    first_tokens INTEGER NOT NULL,
    totals INTEGER NOT NULL,
    UNIQUE (dimension, grp, day, bucket)
) STRICT;

-- Filled from the rows that are there already, in the way of `ledger.insert`.
INSERT INTO ledger_days (
    day, workspace_n, key_n, user_n, provider, model, node, task, ending, calls, prompt_tokens, completion_tokens,
    questions_milli, cost_micro, cost_unknown, full_cost_micro, saved_micro, masked
)
SELECT
    at_ms / 86400000, workspace_n, key_n, user_n,
    ifnull(provider, ''), ifnull(model, ''), ifnull(node, ''), ifnull(task, ''), ending,
    count(*), sum(prompt_tokens), sum(completion_tokens), sum(questions_milli), ifnull(sum(cost_micro), 0),
    count(*) - count(cost_micro), ifnull(sum(full_cost_micro), 0), ifnull(sum(full_cost_micro - cost_micro), 0),
    sum(masked)
FROM ledger
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;

INSERT INTO ledger_groups (
    dimension, grp, day, calls, prompt_tokens, completion_tokens, questions_milli, cost_micro, cost_unknown,
    full_cost_micro, saved_micro, masked
)
SELECT
    dimension,
    CASE dimension
        WHEN 'all' THEN ''
        WHEN 'workspace' THEN workspace_n
        WHEN 'key' THEN key_n
        WHEN 'model' THEN model
        WHEN 'node' THEN node
        ELSE task
    END,
    day, sum(calls), sum(prompt_tokens), sum(completion_tokens), sum(questions_milli), sum(cost_micro),
    sum(cost_unknown), sum(full_cost_micro), sum(saved_micro), sum(masked)
FROM ledger_days
CROSS JOIN (
    SELECT 'all' AS dimension UNION ALL SELECT 'workspace' UNION ALL SELECT 'key' UNION ALL SELECT 'model'
    UNION ALL SELECT 'node' UNION ALL SELECT 'task'
)
GROUP BY 1, 2, 3;

-- The first whole millisecond of each bucket that holds one, up to two days.
CREATE TEMP TABLE bounds (bucket INTEGER PRIMARY KEY, from_ms INTEGER NOT NULL UNIQUE);
INSERT INTO temp.bounds VALUES
    (0, 0), (1, 1), (5, 2), (7, 3), (9, 4), (10, 5), (11, 6), (12, 7), (13, 8), (14, 10), (15, 12), (16, 14),
    (17, 16), (18, 20), (19, 23), (20, 27), (21, 32), (22, 39), (23, 46), (24, 54), (25, 64), (26, 77), (27, 91),
    (28, 108), (29, 128), (30, 153), (31, 182), (32, 216), (33, 256), (34, 305), (35, 363), (36, 431), (37, 512),
    (38, 609), (39, 725), (40, 862), (41, 1024), (42, 1218), (43, 1449), (44, 1723), (45, 2048), (46, 2436),
    (47, 2897), (48, 3445), (49, 4096), (50, 4871), (51, 5793), (52, 6889), (53, 8192), (54, 9742), (55, 11586),
    (56, 13778), (57, 16384), (58, 19484), (59, 23171), (60, 27555), (61, 32768), (62, 38968), (63, 46341),
    (64, 55109), (65, 65536), (66, 77936), (67, 92682), (68, 110218), (69, 131072), (70, 155872), (71, 185364),
    (72, 220436), (73, 262144), (74, 311744), (75, 370728), (76, 440872), (77, 524288), (78, 623488), (79, 741456),
    (80, 881744), (81, 1048576), (82, 1246975), (83, 1482911), (84, 1763488), (85, 2097152), (86, 2493949),
    (87, 2965821), (88, 3526976), (89, 4194304), (90, 4987897), (91, 5931642), (92, 7053951), (93, 8388608),
    (94, 9975793), (95, 11863284), (96, 14107901), (97, 16777216), (98, 19951585), (99, 23726567), (100, 28215802),
    (101, 33554432), (102, 39903170), (103, 47453133), (104, 56431604), (105, 67108864), (106, 79806339),
    (107, 94906266), (108, 112863207), (109, 134217728), (110, 159612678);

INSERT INTO ledger_times (dimension, grp, day, bucket, first_tokens, totals)
SELECT dimension, grp, day, bucket, sum(first_tokens), sum(totals)
FROM (
    SELECT
        dimension,
        CASE dimension
            WHEN 'all' THEN ''
            WHEN 'workspace' THEN workspace_n
            WHEN 'key' THEN key_n
            WHEN 'model' THEN ifnull(model, '')
            WHEN 'node' THEN ifnull(node, '')
            ELSE ifnull(task, '')
        END AS grp,
        at_ms / 86400000 AS day,
        (
            SELECT ifnull(max(bucket), 0) FROM temp.bounds
            WHERE from_ms <= CASE kind WHEN 'first' THEN first_token_ms ELSE total_ms END
        ) AS bucket,
        kind = 'first' AS first_tokens,
        kind = 'total' AS totals
    FROM ledger
    CROSS JOIN (SELECT 'first' AS kind UNION ALL SELECT 'total')
    CROSS JOIN (
        SELECT 'all' AS dimension UNION ALL SELECT 'workspace' UNION ALL SELECT 'key' UNION ALL SELECT 'model'
        UNION ALL SELECT 'node' UNION ALL SELECT 'task'
    )
    WHERE ending IN ('complete', 'length', 'context_cut') AND (kind = 'total' OR first_token_ms IS NOT NULL)
)
GROUP BY 1, 2, 3, 4;

DROP TABLE temp.bounds;

-- One row, written where it is asked whether the disk has room again. Nobody reads it.
CREATE TABLE storage_probe (
    n INTEGER PRIMARY KEY CHECK (n = 1),
    bytes BLOB NOT NULL
) STRICT;
