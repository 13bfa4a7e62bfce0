-- The ways from the rows with these keys to what took their places, as pairs (key, superseded_by).
-- A circle ends by itself: UNION drops a pair that was there.
WITH RECURSIVE way(key, next) AS (
    SELECT key, superseded_by_id FROM memories_memory WHERE key IN (:keys)
    UNION
    SELECT memories_memory.key, memories_memory.superseded_by_id
    FROM memories_memory JOIN way ON memories_memory.key = way.next
)
SELECT key, next FROM way
