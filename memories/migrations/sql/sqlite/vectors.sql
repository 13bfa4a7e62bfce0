-- The vector index: vec0 over the vectors of memories_piece, and the list of changes other processes follow.
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops its triggers.

-- name: memories_vec
-- room      the group's key, 0 for global rows: a search of one group reads its rows and the global ones alone.
-- standing  3 superseded and shown until its valid time ends, 2 live and shown, 1 live and held back, -1 retracted
--           (a restatement must be noticed), 0 anything else.
-- embedding a byte for each number, a quarter of the disk. A search takes twice as many as asked for and compares
--           them again with the vectors of memories_piece: of 150 questions over 10,000 texts no one of the best 60 is missed.
-- until     when it stops to count, in ms since 1970: expiry, or for what is no event the end of its valid time.
-- chunk_size 16: a thousand groups of ten rows take 26 MB (1,618 MB at the default of 1024); one group of 50,000 is
-- read about a third slower (bench/proof/chunks/measure.py).
CREATE VIRTUAL TABLE IF NOT EXISTS memories_vec USING vec0(
    piece INTEGER PRIMARY KEY,
    room INTEGER PARTITION KEY,
    embedding INT8[{width}] DISTANCE_METRIC=cosine,
    standing INTEGER,
    until INTEGER,
    type TEXT,
    chunk_size=16
);

-- name: memories_vec_rooms
-- vec0 asks its chunks for those of a group and has no index for that: of a million memories it read all 62,500 of them
-- each time (6 ms; with this 0.1 ms).
CREATE INDEX IF NOT EXISTS memories_vec_rooms ON memories_vec_chunks (partition00);

-- name: memories_vec_insert
CREATE TRIGGER IF NOT EXISTS memories_vec_insert AFTER INSERT ON memories_piece BEGIN
    INSERT INTO memories_vec (piece, room, embedding, standing, until, type)
    SELECT new.key, row.room, vec_quantize_int8(new.embedding, 'unit'), row.standing, row.until, row.type
    FROM memories_vec_row AS row
    WHERE row.memory = new.memory_id AND new.embedding IS NOT NULL
      AND new.model = (SELECT value FROM index_state WHERE name = 'model');
    INSERT INTO index_change (piece, op) SELECT new.key, '+' WHERE new.embedding IS NOT NULL;
END;

-- name: memories_vec_delete
CREATE TRIGGER IF NOT EXISTS memories_vec_delete AFTER DELETE ON memories_piece BEGIN
    DELETE FROM memories_vec WHERE piece = old.key;
    INSERT INTO index_change (piece, op) VALUES (old.key, '-');
END;

-- name: memories_vec_before_update
-- Apart from the next one: where a trigger reads a virtual table before it inserts a selection into it, SQLite keeps the
-- selection in a table of its own, and a vector loses the mark that says how it is written.
CREATE TRIGGER IF NOT EXISTS memories_vec_before_update BEFORE UPDATE OF embedding, model ON memories_piece BEGIN
    DELETE FROM memories_vec WHERE piece = old.key;
END;

-- name: memories_vec_update
CREATE TRIGGER IF NOT EXISTS memories_vec_update AFTER UPDATE OF embedding, model ON memories_piece BEGIN
    INSERT INTO memories_vec (piece, room, embedding, standing, until, type)
    SELECT new.key, row.room, vec_quantize_int8(new.embedding, 'unit'), row.standing, row.until, row.type
    FROM memories_vec_row AS row
    WHERE row.memory = new.memory_id AND new.embedding IS NOT NULL
      AND new.model = (SELECT value FROM index_state WHERE name = 'model');
    INSERT INTO index_change (piece, op) VALUES (new.key, '~');
END;

-- name: memories_vec_move_drop
DROP TRIGGER IF EXISTS memories_vec_move;

-- name: memories_vec_move
-- Writing the pieces' vectors again fires memories_vec_update once per piece: a trigger has no loop of its own, and
-- "piece IN (SELECT ...)" would read the whole vector table.
CREATE TRIGGER IF NOT EXISTS memories_vec_move
AFTER UPDATE OF group_id, scope, state, trust, expires_at, valid_to, valid_from ON memories_memory
WHEN old.group_id IS NOT new.group_id OR old.scope IS NOT new.scope OR old.state IS NOT new.state
  OR old.trust IS NOT new.trust OR old.expires_at IS NOT new.expires_at OR old.valid_to IS NOT new.valid_to
  OR old.valid_from IS NOT new.valid_from
BEGIN
    UPDATE memories_piece SET embedding = embedding WHERE memory_id = new.key AND embedding IS NOT NULL;
END;
