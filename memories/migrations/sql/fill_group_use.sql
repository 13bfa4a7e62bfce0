-- Counts what each group holds from the memories: by a migration, and by `doctor --repair`.

-- name: empty_group_use
DELETE FROM group_use;

-- name: fill_group_use
INSERT INTO group_use (group_id, live, bytes)
SELECT group_id, COUNT(*), SUM(octet_length(content)) FROM memories_memory WHERE state = 'live' GROUP BY group_id;
