-- The indexes of chunks: words in FTS5, vectors in vec0. Live chunks alone are in them.
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops its triggers.

-- name: chunk_fts_row
CREATE VIEW IF NOT EXISTS chunk_fts_row AS
SELECT key, content, locator, heading, forms FROM sources_chunk WHERE state = 'live';

-- name: chunk_fts
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_fts USING fts5(
    content, locator, heading, forms,
    content = 'chunk_fts_row', content_rowid = 'key', tokenize = 'porter unicode61'
);

-- name: chunk_fts_secure_delete
-- Deleted text must not stay in the index's pages.
INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('secure-delete', 1);

-- name: chunk_vec
-- room is the group's key; chunks of files belong to their group alone.
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_vec USING vec0(
    chunk INTEGER PRIMARY KEY,
    room INTEGER PARTITION KEY,
    embedding INT8[{width}] DISTANCE_METRIC=cosine,
    chunk_size=128
);

-- name: chunk_vec_rooms
CREATE INDEX IF NOT EXISTS chunk_vec_rooms ON chunk_vec_chunks (partition00);

-- name: chunk_fts_insert
CREATE TRIGGER IF NOT EXISTS chunk_fts_insert AFTER INSERT ON sources_chunk WHEN new.state = 'live' BEGIN
    INSERT INTO chunk_fts (rowid, content, locator, heading, forms)
    VALUES (new.key, new.content, new.locator, new.heading, new.forms);
END;

-- name: chunk_fts_delete
CREATE TRIGGER IF NOT EXISTS chunk_fts_delete AFTER DELETE ON sources_chunk WHEN old.state = 'live' BEGIN
    INSERT INTO chunk_fts (chunk_fts, rowid, content, locator, heading, forms)
    VALUES ('delete', old.key, old.content, old.locator, old.heading, old.forms);
END;

-- name: chunk_fts_update_out
CREATE TRIGGER IF NOT EXISTS chunk_fts_update_out
AFTER UPDATE OF state, content, locator, heading, forms ON sources_chunk
WHEN old.state = 'live' AND (new.state != 'live' OR old.content IS NOT new.content OR old.locator IS NOT new.locator
  OR old.heading IS NOT new.heading OR old.forms IS NOT new.forms)
BEGIN
    INSERT INTO chunk_fts (chunk_fts, rowid, content, locator, heading, forms)
    VALUES ('delete', old.key, old.content, old.locator, old.heading, old.forms);
    INSERT INTO chunk_fts (rowid, content, locator, heading, forms)
    SELECT new.key, new.content, new.locator, new.heading, new.forms WHERE new.state = 'live';
END;

-- name: chunk_fts_update_in
CREATE TRIGGER IF NOT EXISTS chunk_fts_update_in AFTER UPDATE OF state ON sources_chunk
WHEN old.state != 'live' AND new.state = 'live'
BEGIN
    INSERT INTO chunk_fts (rowid, content, locator, heading, forms)
    VALUES (new.key, new.content, new.locator, new.heading, new.forms);
END;

-- name: chunk_vec_insert_drop
-- Stores whose trigger took vectors of every model.
DROP TRIGGER IF EXISTS chunk_vec_insert;

-- name: chunk_vec_insert
CREATE TRIGGER IF NOT EXISTS chunk_vec_insert AFTER INSERT ON sources_chunk
WHEN new.embedding IS NOT NULL AND new.state = 'live' BEGIN
    INSERT INTO chunk_vec (chunk, room, embedding)
    SELECT new.key, new.group_id, vec_quantize_int8(new.embedding, 'unit')
    WHERE new.model = (SELECT value FROM index_state WHERE name = 'model');
END;

-- name: chunk_vec_delete
CREATE TRIGGER IF NOT EXISTS chunk_vec_delete AFTER DELETE ON sources_chunk WHEN old.embedding IS NOT NULL BEGIN
    DELETE FROM chunk_vec WHERE chunk = old.key;
END;

-- name: chunk_vec_before_update
-- Apart from the next one, as for memories_vec: otherwise a vector loses the mark that says how it is written.
CREATE TRIGGER IF NOT EXISTS chunk_vec_before_update BEFORE UPDATE OF embedding, state ON sources_chunk
WHEN old.embedding IS NOT NULL BEGIN
    DELETE FROM chunk_vec WHERE chunk = old.key;
END;

-- name: chunk_vec_update_drop
DROP TRIGGER IF EXISTS chunk_vec_update;

-- name: chunk_vec_update
CREATE TRIGGER IF NOT EXISTS chunk_vec_update AFTER UPDATE OF embedding, state ON sources_chunk
WHEN new.embedding IS NOT NULL AND new.state = 'live' BEGIN
    INSERT INTO chunk_vec (chunk, room, embedding)
    SELECT new.key, new.group_id, vec_quantize_int8(new.embedding, 'unit')
    WHERE new.model = (SELECT value FROM index_state WHERE name = 'model');
END;
