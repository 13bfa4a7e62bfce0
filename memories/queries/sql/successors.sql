-- The paths from the rows with these keys to their last successors, as pairs (key, superseded_by).
-- A cycle ends by itself: UNION drops a repeated pair.
WITH RECURSIVE way(key, next) AS (
    SELECT key, superseded_by_id FROM memories_memory WHERE key IN (:keys)
    UNION
    SELECT memories_memory.key, memories_memory.superseded_by_id
    FROM memories_memory JOIN way ON memories_memory.key = way.next
)
SELECT key, next FROM way
