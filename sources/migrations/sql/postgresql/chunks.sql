-- The indexes of chunks: words in a GIN index, vectors in half precision. Live chunks alone are in them.
-- Idempotent: run by a migration and again after every migrate.

-- name: chunk_words
-- stems  the chunk's words, each with its group before it, as in search_row
CREATE TABLE IF NOT EXISTS chunk_words (
    key bigint PRIMARY KEY,
    room bigint NOT NULL,
    words integer NOT NULL,
    stems tsvector NOT NULL
);

-- name: chunk_words_narrow
-- A search reads the short columns of many rows; the stems lie beside.
ALTER TABLE chunk_words SET (toast_tuple_target = 128);

-- name: chunk_words_no_samples
ALTER TABLE chunk_words ALTER COLUMN stems SET STATISTICS 0;

-- name: chunk_words_stems
CREATE INDEX IF NOT EXISTS chunk_words_stems ON chunk_words USING gin (stems) WITH (fastupdate = off);

-- name: chunk_near
-- room is the group's key; chunks of files belong to their group alone.
CREATE TABLE IF NOT EXISTS chunk_near (
    chunk bigint PRIMARY KEY,
    room bigint NOT NULL,
    h halfvec({width}) NOT NULL
);

-- name: chunk_near_room
CREATE INDEX IF NOT EXISTS chunk_near_room ON chunk_near (room);

-- name: chunk_stems
-- A chunk's words: content, path, heading and other forms, one after the other. A phrase ends with its column.
CREATE OR REPLACE FUNCTION chunk_stems(chunk sources_chunk) RETURNS tsvector LANGUAGE plpgsql STABLE AS $$
DECLARE
    room text := chunk.group_id::text || '.';
    content text[] := search_words(chunk.content);
    locator text[] := search_words(chunk.locator);
    heading text[] := search_words(chunk.heading);
    first integer := 1 + cardinality(content);
    second integer := 2 + cardinality(content) + cardinality(locator);
BEGIN
    RETURN (
        search_lexemes(room, content, 'A', 0)
        || ' ' || search_lexemes(room, locator, 'A', first)
        || ' ' || search_lexemes(room, heading, 'A', second)
        || ' ' || search_lexemes(room, search_words(chunk.forms), 'A', 1 + second + cardinality(heading))
    )::tsvector;
END $$;

-- name: chunk_words_write
CREATE OR REPLACE FUNCTION chunk_words_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE chunk_words, chunk_near;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM chunk_words WHERE key = OLD.key;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO chunk_words (key, room, words, stems)
        SELECT NEW.key, NEW.group_id, NEW.words, chunk_stems(NEW) WHERE NEW.state = 'live';
    END IF;
    RETURN NULL;
END $$;

-- name: chunk_words_changed
CREATE OR REPLACE TRIGGER chunk_words_changed AFTER INSERT OR DELETE ON sources_chunk
FOR EACH ROW EXECUTE FUNCTION chunk_words_write();

-- name: chunk_words_updated
-- Writing a vector must cost nothing here.
CREATE OR REPLACE TRIGGER chunk_words_updated AFTER UPDATE ON sources_chunk FOR EACH ROW WHEN (
    (OLD.state, OLD.group_id, OLD.words, OLD.content, OLD.locator, OLD.heading, OLD.forms)
    IS DISTINCT FROM
    (NEW.state, NEW.group_id, NEW.words, NEW.content, NEW.locator, NEW.heading, NEW.forms)
) EXECUTE FUNCTION chunk_words_write();

-- name: chunk_words_emptied
CREATE OR REPLACE TRIGGER chunk_words_emptied AFTER TRUNCATE ON sources_chunk EXECUTE FUNCTION chunk_words_write();

-- name: chunk_near_write
CREATE OR REPLACE FUNCTION chunk_near_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM chunk_near WHERE chunk = OLD.key;
    END IF;
    -- As for piece_search: asked before the statement is planned.
    IF TG_OP <> 'DELETE' AND NEW.state = 'live' AND NEW.embedding IS NOT NULL AND NEW.model = (SELECT value FROM index_state WHERE name = 'model') THEN
        INSERT INTO chunk_near (chunk, room, h) VALUES (NEW.key, NEW.group_id, NEW.embedding::halfvec);
    END IF;
    RETURN NULL;
END $$;

-- name: chunk_near_changed
CREATE OR REPLACE TRIGGER chunk_near_changed AFTER INSERT OR DELETE OR UPDATE OF embedding, state, group_id ON sources_chunk
FOR EACH ROW EXECUTE FUNCTION chunk_near_write();

-- name: fill_chunk_words
-- Chunks that a store had before it had these tables.
INSERT INTO chunk_words (key, room, words, stems)
SELECT c.key, c.group_id, c.words, chunk_stems(c) FROM sources_chunk AS c
WHERE c.state = 'live' AND NOT EXISTS (SELECT 1 FROM chunk_words AS w WHERE w.key = c.key);

-- name: fill_chunk_near
INSERT INTO chunk_near (chunk, room, h)
SELECT c.key, c.group_id, c.embedding::halfvec FROM sources_chunk AS c
WHERE c.state = 'live' AND c.embedding IS NOT NULL AND c.model = (SELECT value FROM index_state WHERE name = 'model')
    AND NOT EXISTS (SELECT 1 FROM chunk_near AS n WHERE n.chunk = c.key);
