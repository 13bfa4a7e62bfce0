-- What the keyword search must know of each memory and of each group, kept by triggers. FTS5 counts texts and words over all
-- groups; a search counts them here, over the groups that its caller may see.
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops its triggers.

-- name: search_row
-- words         about as many as the memory's columns in the keyword index have
-- place         its place among the memories of its group, in the order in which they came
-- global_place  its place among the group's global memories: who may see only those must not see what lies between
CREATE TABLE IF NOT EXISTS search_row (
    key INTEGER PRIMARY KEY,
    group_id INTEGER NOT NULL,
    is_global INTEGER NOT NULL,
    words INTEGER NOT NULL,
    place INTEGER NOT NULL,
    global_place INTEGER NOT NULL
);

-- name: search_group
-- The sums over search_row by group and scope, and how many places were given: none is given again.
CREATE TABLE IF NOT EXISTS search_group (
    is_global INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    texts INTEGER NOT NULL,
    words INTEGER NOT NULL,
    places INTEGER NOT NULL,
    PRIMARY KEY (is_global, group_id)
) WITHOUT ROWID;

-- name: search_row_insert
CREATE TRIGGER IF NOT EXISTS search_row_insert AFTER INSERT ON memories_memory BEGIN
    INSERT INTO search_group (is_global, group_id, texts, words, places)
    VALUES (new.scope = 'global', new.group_id, 1, {words of new}, 1)
    ON CONFLICT (is_global, group_id) DO UPDATE
    SET texts = texts + 1, words = words + excluded.words, places = places + 1;
    INSERT INTO search_row (key, group_id, is_global, words, place, global_place)
    SELECT new.key, new.group_id, new.scope = 'global', {words of new}, SUM(places), SUM(places * is_global)
    FROM search_group WHERE is_global IN (0, 1) AND group_id = new.group_id;
END;

-- name: search_row_delete
CREATE TRIGGER IF NOT EXISTS search_row_delete AFTER DELETE ON memories_memory BEGIN
    UPDATE search_group SET texts = texts - 1, words = words - (SELECT words FROM search_row WHERE key = old.key)
    WHERE is_global = (old.scope = 'global') AND group_id = old.group_id;
    DELETE FROM search_row WHERE key = old.key;
END;

-- name: search_row_text
CREATE TRIGGER IF NOT EXISTS search_row_text AFTER UPDATE OF content, context, forms ON memories_memory
WHEN {words of new} != {words of old}
BEGIN
    UPDATE search_group SET words = words + {words of new} - (SELECT words FROM search_row WHERE key = new.key)
    WHERE (is_global, group_id) = (SELECT is_global, group_id FROM search_row WHERE key = new.key);
    UPDATE search_row SET words = {words of new} WHERE key = new.key;
END;

-- name: search_row_move
CREATE TRIGGER IF NOT EXISTS search_row_move AFTER UPDATE OF group_id, scope ON memories_memory
WHEN old.group_id != new.group_id OR (old.scope = 'global') != (new.scope = 'global')
BEGIN
    UPDATE search_group SET texts = texts - 1, words = words - (SELECT words FROM search_row WHERE key = old.key)
    WHERE is_global = (old.scope = 'global') AND group_id = old.group_id;
    INSERT INTO search_group (is_global, group_id, texts, words, places)
    VALUES (new.scope = 'global', new.group_id, 1, {words of new}, 1)
    ON CONFLICT (is_global, group_id) DO UPDATE
    SET texts = texts + 1, words = words + excluded.words, places = places + 1;
    UPDATE search_row SET group_id = new.group_id, is_global = (new.scope = 'global'), words = {words of new},
        (place, global_place) = (
            SELECT CASE old.group_id WHEN new.group_id THEN search_row.place ELSE SUM(places) END, SUM(places * is_global)
            FROM search_group WHERE is_global IN (0, 1) AND group_id = new.group_id
        )
    WHERE key = new.key;
END;
