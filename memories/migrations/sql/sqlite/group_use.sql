-- The live memories of each group and the bytes of their texts, for the limits of groups (access/limits/quota.py).
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops its triggers.

-- name: group_use
CREATE TABLE IF NOT EXISTS group_use (group_id INTEGER PRIMARY KEY, live INTEGER NOT NULL, bytes INTEGER NOT NULL);

-- name: group_use_insert
CREATE TRIGGER IF NOT EXISTS group_use_insert AFTER INSERT ON memories_memory WHEN new.state = 'live' BEGIN
    INSERT INTO group_use (group_id, live, bytes) VALUES (new.group_id, 1, octet_length(new.content))
    ON CONFLICT (group_id) DO UPDATE SET live = live + 1, bytes = bytes + excluded.bytes;
END;

-- name: group_use_delete
CREATE TRIGGER IF NOT EXISTS group_use_delete AFTER DELETE ON memories_memory WHEN old.state = 'live' BEGIN
    UPDATE group_use SET live = live - 1, bytes = bytes - octet_length(old.content) WHERE group_id = old.group_id;
END;

-- name: group_use_update
CREATE TRIGGER IF NOT EXISTS group_use_update AFTER UPDATE OF state, group_id, content ON memories_memory
WHEN (old.state = 'live' OR new.state = 'live')
    AND (old.state, old.group_id, old.content) != (new.state, new.group_id, new.content)
BEGIN
    UPDATE group_use SET live = live - 1, bytes = bytes - octet_length(old.content)
    WHERE old.state = 'live' AND group_id = old.group_id;
    INSERT INTO group_use (group_id, live, bytes)
    SELECT new.group_id, 1, octet_length(new.content) WHERE new.state = 'live'
    ON CONFLICT (group_id) DO UPDATE SET live = live + 1, bytes = bytes + excluded.bytes;
END;
