-- The stamp of the withdrawn texts: a random value that changes with each of them, so that every process knows whether
-- what it has read of them is still true. Random, not counted: a change that was rolled back leaves no value behind.
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops its triggers.

-- name: withdrawn_tombstone_insert
CREATE TRIGGER IF NOT EXISTS withdrawn_tombstone_insert AFTER INSERT ON memories_tombstone BEGIN
    INSERT INTO index_state (name, value) VALUES ('withdrawn', hex(randomblob(8)))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END;

-- name: withdrawn_tombstone_update
CREATE TRIGGER IF NOT EXISTS withdrawn_tombstone_update AFTER UPDATE ON memories_tombstone BEGIN
    INSERT INTO index_state (name, value) VALUES ('withdrawn', hex(randomblob(8)))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END;

-- name: withdrawn_tombstone_delete
CREATE TRIGGER IF NOT EXISTS withdrawn_tombstone_delete AFTER DELETE ON memories_tombstone BEGIN
    INSERT INTO index_state (name, value) VALUES ('withdrawn', hex(randomblob(8)))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END;

-- name: withdrawn_memory_insert
CREATE TRIGGER IF NOT EXISTS withdrawn_memory_insert AFTER INSERT ON memories_memory
WHEN new.state = 'retracted' OR new.trust = 'rejected' BEGIN
    INSERT INTO index_state (name, value) VALUES ('withdrawn', hex(randomblob(8)))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END;

-- name: withdrawn_memory_update
CREATE TRIGGER IF NOT EXISTS withdrawn_memory_update
AFTER UPDATE OF state, trust, scope, group_id ON memories_memory
WHEN new.state = 'retracted' OR new.trust = 'rejected' OR old.state = 'retracted' OR old.trust = 'rejected' BEGIN
    INSERT INTO index_state (name, value) VALUES ('withdrawn', hex(randomblob(8)))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END;

-- name: withdrawn_memory_delete
CREATE TRIGGER IF NOT EXISTS withdrawn_memory_delete AFTER DELETE ON memories_memory
WHEN old.state = 'retracted' OR old.trust = 'rejected' BEGIN
    INSERT INTO index_state (name, value) VALUES ('withdrawn', hex(randomblob(8)))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
END;
