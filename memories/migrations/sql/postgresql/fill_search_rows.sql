-- Fills search_row and search_group from the memories: by a migration, and by `doctor --repair`.

-- name: empty_search_row
DELETE FROM search_row;

-- name: empty_search_group
DELETE FROM search_group;

-- name: fill_search_row
INSERT INTO search_row (key, group_id, is_global, words, place, global_place, stems)
SELECT memory.key, memory.group_id, memory.scope = 'global', {words of memory},
    ROW_NUMBER() OVER (PARTITION BY memory.group_id ORDER BY memory.key),
    COUNT(*) FILTER (WHERE memory.scope = 'global') OVER (PARTITION BY memory.group_id ORDER BY memory.key),
    search_stems(memory)
FROM memories_memory AS memory;

-- name: fill_search_group
INSERT INTO search_group (is_global, group_id, texts, words, places)
SELECT is_global, group_id, COUNT(*), SUM(words), COUNT(*) FROM search_row GROUP BY is_global, group_id;
