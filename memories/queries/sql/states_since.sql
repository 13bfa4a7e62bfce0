-- The state of each memory at a moment: as it was before the first change of state that was logged after it.
-- A log row holds either the changed fields as [before, after], or the whole memory before the change.
SELECT m.key, m.state, changed.state, changed.retired
FROM (
    SELECT l.memory_id AS id, MIN(l.key) AS first,
        COALESCE(p.payload ->> '$.changes.state[0]', p.payload ->> '$.before.state') AS state,
        COALESCE(p.payload ->> '$.changes.retired_at[0]', p.payload ->> '$.before.retired_at') AS retired
    FROM memory_log AS l CROSS JOIN memory_log_payload AS p ON p.entry_id = l.key
    WHERE l.origin = '' AND l.at > %s AND l.memory_id IS NOT NULL
      AND l.operation IN ('forget', 'merge', 'restore', 'retract', 'supersede', 'run')
      AND COALESCE(p.payload ->> '$.changes.state[0]', p.payload ->> '$.before.state')
        != COALESCE(p.payload ->> '$.changes.state[1]', p.payload ->> '$.after.state')
    GROUP BY l.memory_id
) AS changed
JOIN memories_memory AS m ON m.id = changed.id
