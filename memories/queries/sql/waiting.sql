-- Live memories of one trust, oldest first. Literals and the plus before the group make SQLite use the partial index
-- memory_waiting instead of reading the group.
SELECT key
FROM memories_memory
WHERE trust = :trust
  AND NOT (trust IN ('active', 'verified'))
  AND state = 'live'
  AND (:everywhere = 1 OR +group_id IN (:groups))
ORDER BY key
LIMIT :limit
