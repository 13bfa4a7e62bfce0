-- Stamps of the withdrawn texts: random values that change with each of them, so that every process knows whether what it
-- has read of them is still true. Random, not counted: a change that was rolled back leaves no value behind. One for each
-- group, "withdrawn KEY", so that no group's withdrawals wait for another's, and "withdrawn" for global texts.
-- Idempotent: run by a migration and again after every migrate.

-- name: withdrawn_stamp
CREATE OR REPLACE FUNCTION withdrawn_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE names text[];
BEGIN
    IF TG_OP <> 'INSERT' THEN
        names := ARRAY['withdrawn ' || OLD.group_id, CASE OLD.scope WHEN 'global' THEN 'withdrawn' END];
    END IF;
    IF TG_OP <> 'DELETE' THEN
        names := names || ARRAY['withdrawn ' || NEW.group_id, CASE NEW.scope WHEN 'global' THEN 'withdrawn' END];
    END IF;
    -- The shared one last, to hold it shortly.
    INSERT INTO index_state (name, value)
    SELECT asked, gen_random_uuid()::text FROM unnest(names) AS asked WHERE asked IS NOT NULL
    GROUP BY asked ORDER BY asked DESC
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
