-- The state of each memory at a moment: as it was before the first change of state that was logged after it.
-- A log row holds either the changed fields as [before, after], or the whole memory before the change.
SELECT m.key, m.state, changed.state, changed.retired
FROM (
    SELECT logged.*, ROW_NUMBER() OVER (PARTITION BY logged.id ORDER BY logged.key) AS place
    FROM (
        SELECT l.memory_id AS id, l.key,
            COALESCE(p.payload -> 'changes' -> 'state' ->> 0, p.payload -> 'before' ->> 'state') AS state,
            COALESCE(p.payload -> 'changes' -> 'retired_at' ->> 0, p.payload -> 'before' ->> 'retired_at') AS retired,
            COALESCE(p.payload -> 'changes' -> 'state' ->> 1, p.payload -> 'after' ->> 'state') AS later
        FROM memory_log AS l :ordered_join memory_log_payload AS p ON p.entry_id = l.key
        WHERE l.origin = '' AND l.at > %s AND l.memory_id IS NOT NULL
          AND l.operation IN ('forget', 'merge', 'restore', 'retract', 'supersede', 'run')
    ) AS logged
    WHERE logged.state != logged.later
) AS changed
JOIN memories_memory AS m ON m.id = changed.id
WHERE changed.place = 1
