-- The keyword index, and what the keyword search must know of each memory and group; kept by triggers.
-- Idempotent: run by a migration and again after every migrate.

-- name: search_row
-- room          the group's key, 0 for global rows, as in piece_search
-- words         about as many as the memory's columns in the keyword index have
-- place         its place among the memories of its group, in the order in which they came
-- global_place  its place among the group's global memories: who may see only those must not see what lies between
-- stems         its words, each with its room before it, so that a search reads the lists of its own rooms alone
CREATE TABLE IF NOT EXISTS search_row (
    key bigint PRIMARY KEY,
    group_id bigint NOT NULL,
    words integer NOT NULL,
    place integer NOT NULL,
    global_place integer NOT NULL,
    is_global boolean NOT NULL,
    stems tsvector NOT NULL
);

-- name: search_row_narrow
-- A search reads the short columns of many rows; the stems lie beside.
ALTER TABLE search_row SET (toast_tuple_target = 128);

-- name: search_row_stems
CREATE INDEX IF NOT EXISTS search_row_stems ON search_row USING gin (stems) WITH (fastupdate = off);

-- name: search_row_group
CREATE INDEX IF NOT EXISTS search_row_group ON search_row (group_id);

-- name: search_group
-- The sums over search_row by group and scope, and how many places were given: none is given again.
CREATE TABLE IF NOT EXISTS search_group (
    group_id bigint NOT NULL,
    words bigint NOT NULL,
    texts integer NOT NULL,
    places integer NOT NULL,
    is_global boolean NOT NULL,
    PRIMARY KEY (group_id, is_global)
);

-- name: search_group_global
-- A search reads the sums of its groups and of all groups' global rows.
CREATE INDEX IF NOT EXISTS search_group_global ON search_group (group_id) WHERE is_global;

-- name: search_lexemes
-- Stems as the input of a tsvector: the room before each, its place behind it. A tsvector keeps 16,383 places.
CREATE OR REPLACE FUNCTION search_lexemes(room text, stems text[], weight text, first integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT coalesce(string_agg(room || stem || ':' || least(place + first, 16383) || weight, ' '), '')
    FROM unnest(stems) WITH ORDINALITY AS found (stem, place)
);

-- name: search_stems
-- A memory's words. Content (A) and forms (B) are its text; the context counts less, so its words are others (~). A phrase
-- ends with its column.
CREATE OR REPLACE FUNCTION search_stems(memory memories_memory) RETURNS tsvector LANGUAGE plpgsql STABLE AS $$
DECLARE
    room text := CASE memory.scope WHEN 'global' THEN '0' ELSE memory.group_id::text END;
    content text[] := search_words(memory.content);
BEGIN
    RETURN (
        search_lexemes(room || '.', content, 'A', 0)
        || ' ' || search_lexemes(room || '.', search_words(memory.forms), 'B', 1 + cardinality(content))
        || ' ' || search_lexemes(room || '~', search_words(memory.context), 'C', 0)
    )::tsvector;
END $$;

-- name: search_row_add
CREATE OR REPLACE FUNCTION search_row_add(new memories_memory, old_place integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_group AS sums (is_global, group_id, texts, words, places)
    VALUES (new.scope = 'global', new.group_id, 1, {words of new}, 1)
    ON CONFLICT (is_global, group_id) DO UPDATE
    SET texts = sums.texts + 1, words = sums.words + excluded.words, places = sums.places + 1;
    INSERT INTO search_row (key, group_id, is_global, words, place, global_place, stems)
    SELECT new.key, new.group_id, new.scope = 'global', {words of new}, coalesce(old_place, SUM(places)),
        coalesce(SUM(places) FILTER (WHERE is_global), 0), search_stems(new)
    FROM search_group WHERE group_id = new.group_id;
END $$;

-- name: search_row_take
CREATE OR REPLACE FUNCTION search_row_take(old memories_memory) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE taken search_row;
BEGIN
    DELETE FROM search_row WHERE key = old.key RETURNING * INTO taken;
    UPDATE search_group SET texts = texts - 1, words = words - taken.words
    WHERE is_global = taken.is_global AND group_id = taken.group_id;
    RETURN taken.place;
END $$;

-- name: search_row_write
CREATE OR REPLACE FUNCTION search_row_write() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE old_place integer;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE search_row, search_group;
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM search_row_add(NEW, NULL);
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM search_row_take(OLD);
    ELSIF OLD.group_id <> NEW.group_id OR (OLD.scope = 'global') <> (NEW.scope = 'global') THEN
        old_place := search_row_take(OLD);
        PERFORM search_row_add(NEW, CASE WHEN OLD.group_id = NEW.group_id THEN old_place END);
    ELSE
        UPDATE search_group SET words = words + {words of NEW} - (SELECT words FROM search_row WHERE key = NEW.key)
        WHERE (is_global, group_id) = (NEW.scope = 'global', NEW.group_id);
        UPDATE search_row SET words = {words of NEW}, stems = search_stems(NEW) WHERE key = NEW.key;
    END IF;
    RETURN NULL;
END $$;

-- name: search_row_changed
CREATE OR REPLACE TRIGGER search_row_changed AFTER INSERT OR DELETE ON memories_memory
FOR EACH ROW EXECUTE FUNCTION search_row_write();

-- name: search_row_emptied
CREATE OR REPLACE TRIGGER search_row_emptied AFTER TRUNCATE ON memories_memory EXECUTE FUNCTION search_row_write();

-- name: search_row_updated
-- Saving a row without touching its text must cost nothing here.
CREATE OR REPLACE TRIGGER search_row_updated AFTER UPDATE OF content, context, forms, group_id, scope ON memories_memory
FOR EACH ROW WHEN (
    (OLD.content, OLD.context, OLD.forms, OLD.group_id, OLD.scope)
    IS DISTINCT FROM (NEW.content, NEW.context, NEW.forms, NEW.group_id, NEW.scope)
) EXECUTE FUNCTION search_row_write();
