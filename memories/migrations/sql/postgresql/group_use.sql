-- The live memories of each group and the bytes of their texts, for the limits of groups (access/limits/quota.py).
-- Idempotent: run by a migration and again after every migrate.

-- name: group_use
CREATE TABLE IF NOT EXISTS group_use (group_id bigint PRIMARY KEY, live bigint NOT NULL, bytes bigint NOT NULL);

-- name: group_use_write
CREATE OR REPLACE FUNCTION group_use_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE group_use;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' AND OLD.state = 'live' THEN
        UPDATE group_use SET live = live - 1, bytes = bytes - octet_length(OLD.content) WHERE group_id = OLD.group_id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state = 'live' THEN
        INSERT INTO group_use AS used (group_id, live, bytes) VALUES (NEW.group_id, 1, octet_length(NEW.content))
        ON CONFLICT (group_id) DO UPDATE SET live = used.live + 1, bytes = used.bytes + excluded.bytes;
    END IF;
    RETURN NULL;
END $$;

-- name: group_use_changed
CREATE OR REPLACE TRIGGER group_use_changed AFTER INSERT OR DELETE ON memories_memory
FOR EACH ROW EXECUTE FUNCTION group_use_write();

-- name: group_use_emptied
CREATE OR REPLACE TRIGGER group_use_emptied AFTER TRUNCATE ON memories_memory EXECUTE FUNCTION group_use_write();

-- name: group_use_updated
CREATE OR REPLACE TRIGGER group_use_updated AFTER UPDATE OF state, group_id, content ON memories_memory
FOR EACH ROW WHEN ((OLD.state, OLD.group_id, OLD.content) IS DISTINCT FROM (NEW.state, NEW.group_id, NEW.content))
EXECUTE FUNCTION group_use_write();
