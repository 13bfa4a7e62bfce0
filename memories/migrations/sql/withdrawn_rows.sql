-- Indexes over withdrawn memories, which a store of a similar text is compared with: a group's own, and global ones.
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops them.

-- name: memory_withdrawn
CREATE INDEX IF NOT EXISTS memory_withdrawn ON memories_memory (group_id) WHERE (state = 'retracted' OR trust = 'rejected');

-- name: memory_withdrawn_global
CREATE INDEX IF NOT EXISTS memory_withdrawn_global ON memories_memory (key)
WHERE scope = 'global' AND (state = 'retracted' OR trust = 'rejected');
