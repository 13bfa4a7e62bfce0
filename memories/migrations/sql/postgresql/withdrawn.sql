-- The stamp of the withdrawn texts: a random value that changes with each of them, so that every process knows whether
-- what it has read of them is still true. Random, not counted: a change that was rolled back leaves no value behind.
-- Idempotent: run by a migration and again after every migrate.

-- name: withdrawn_stamp
CREATE OR REPLACE FUNCTION withdrawn_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO index_state (name, value) VALUES ('withdrawn', gen_random_uuid()::text)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value;
    RETURN NULL;
END $$;

-- name: withdrawn_tombstone
CREATE OR REPLACE TRIGGER withdrawn_tombstone AFTER INSERT OR UPDATE OR DELETE ON memories_tombstone
FOR EACH ROW EXECUTE FUNCTION withdrawn_stamp();

-- name: withdrawn_memory_insert
CREATE OR REPLACE TRIGGER withdrawn_memory_insert AFTER INSERT ON memories_memory
FOR EACH ROW WHEN (NEW.state = 'retracted' OR NEW.trust = 'rejected') EXECUTE FUNCTION withdrawn_stamp();

-- name: withdrawn_memory_update
CREATE OR REPLACE TRIGGER withdrawn_memory_update AFTER UPDATE OF state, trust, scope, group_id ON memories_memory
FOR EACH ROW WHEN (NEW.state = 'retracted' OR NEW.trust = 'rejected' OR OLD.state = 'retracted' OR OLD.trust = 'rejected')
EXECUTE FUNCTION withdrawn_stamp();

-- name: withdrawn_memory_delete
CREATE OR REPLACE TRIGGER withdrawn_memory_delete AFTER DELETE ON memories_memory
FOR EACH ROW WHEN (OLD.state = 'retracted' OR OLD.trust = 'rejected') EXECUTE FUNCTION withdrawn_stamp();
