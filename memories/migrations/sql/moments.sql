-- Indexes over the day of a memory: its own, or that on which it was stored. A question about a time reads them.
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops them.

-- name: memory_moment
CREATE INDEX IF NOT EXISTS memory_moment ON memories_memory (group_id, COALESCE(valid_from, created_at));

-- name: memory_moment_global
CREATE INDEX IF NOT EXISTS memory_moment_global ON memories_memory (COALESCE(valid_from, created_at))
WHERE scope = 'global';
