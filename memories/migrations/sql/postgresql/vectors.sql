-- The vector index: half-precision vectors of memories_piece beside the columns that nearly every search filters by.
-- The full precision stays in memories_piece; above 2 kB a row would be split, and reading all of a group much slower.
-- Idempotent: run by a migration and again after every migrate.

-- name: piece_search
-- room      the group's key, 0 for global rows: a search of one group reads its rows and the global ones alone.
-- standing  3 superseded and shown until its valid time ends, 2 live and shown, 1 live and held back, -1 retracted
--           (a restatement must be noticed), 0 anything else.
-- until     when it stops to count, in ms since 1970: expiry, or for what is no event the end of its valid time.
CREATE TABLE IF NOT EXISTS piece_search (
    piece bigint PRIMARY KEY,
    memory bigint NOT NULL,
    until bigint NOT NULL,
    room bigint NOT NULL,
    standing smallint NOT NULL,
    type varchar(20) COLLATE "C" NOT NULL,
    h halfvec({width}) NOT NULL
);

-- name: piece_search_room
CREATE INDEX IF NOT EXISTS piece_search_room ON piece_search (room);

-- name: piece_search_memory
CREATE INDEX IF NOT EXISTS piece_search_memory ON piece_search (memory);

-- name: piece_search_write
CREATE OR REPLACE FUNCTION piece_search_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE piece_search;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM piece_search WHERE piece = OLD.key;
    END IF;
    -- Asked before the statement is planned, which already turns the vector into one of the column's width.
    IF TG_OP <> 'DELETE' AND NEW.embedding IS NOT NULL AND NEW.model = (SELECT value FROM index_state WHERE name = 'model') THEN
        INSERT INTO piece_search (piece, memory, room, standing, until, type, h)
        SELECT NEW.key, NEW.memory_id, row.room, row.standing, row.until, row.type, NEW.embedding::halfvec
        FROM memories_vec_row AS row WHERE row.memory = NEW.memory_id;
    END IF;
    RETURN NULL;
END $$;

-- name: piece_search_changed
CREATE OR REPLACE TRIGGER piece_search_changed AFTER INSERT OR DELETE OR UPDATE OF embedding, model ON memories_piece
FOR EACH ROW EXECUTE FUNCTION piece_search_write();

-- name: piece_search_emptied
CREATE OR REPLACE TRIGGER piece_search_emptied AFTER TRUNCATE ON memories_piece EXECUTE FUNCTION piece_search_write();

-- name: piece_search_follow
CREATE OR REPLACE FUNCTION piece_search_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE piece_search AS kept SET room = row.room, standing = row.standing, until = row.until, type = row.type
    FROM memories_vec_row AS row
    WHERE kept.memory = NEW.key AND row.memory = NEW.key
        AND (kept.room, kept.standing, kept.until, kept.type) IS DISTINCT FROM (row.room, row.standing, row.until, row.type);
    RETURN NULL;
END $$;

-- name: piece_search_moved
CREATE OR REPLACE TRIGGER piece_search_moved
AFTER UPDATE OF group_id, scope, state, trust, type, expires_at, valid_to, valid_from, valid_to_known_at, retired_at
ON memories_memory FOR EACH ROW WHEN (
    (OLD.group_id, OLD.scope, OLD.state, OLD.trust, OLD.type, OLD.expires_at, OLD.valid_to, OLD.valid_from,
        OLD.valid_to_known_at, OLD.retired_at)
    IS DISTINCT FROM
    (NEW.group_id, NEW.scope, NEW.state, NEW.trust, NEW.type, NEW.expires_at, NEW.valid_to, NEW.valid_from,
        NEW.valid_to_known_at, NEW.retired_at)
) EXECUTE FUNCTION piece_search_follow();
