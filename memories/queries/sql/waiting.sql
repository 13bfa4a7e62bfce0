-- Live memories of one trust, the oldest first. Literals, and a plus before the group: only so does SQLite take the
-- partial index memory_waiting and not read the group.
SELECT key
FROM memories_memory
WHERE trust = :trust
  AND NOT (trust IN ('active', 'verified'))
  AND state = 'live'
  AND (:everywhere = 1 OR +group_id IN (:groups))
ORDER BY key
LIMIT :limit
