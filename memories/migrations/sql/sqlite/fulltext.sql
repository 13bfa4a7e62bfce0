-- The keyword index: FTS5 over memories_memory without a copy of its text.
-- Idempotent: run by a migration and again after every migrate, since a remake of the table drops its triggers.

-- name: memories_fts
CREATE VIRTUAL TABLE IF NOT EXISTS memories_fts USING fts5(
    content, context, filter, forms,
    content = 'memories_memory', content_rowid = 'key', tokenize = 'porter unicode61'
);

-- name: memories_fts_rank
-- context counts a little, filter not at all; forms are words as well (memories/language/word_forms.py).
INSERT INTO memories_fts (memories_fts, rank) VALUES ('rank', 'bm25(1.0, 0.3, 0.0, 1.0)');

-- name: memories_fts_secure_delete
-- Deleted text must not stay in the index's pages.
INSERT INTO memories_fts (memories_fts, rank) VALUES ('secure-delete', 1);

-- name: memories_fts_insert
CREATE TRIGGER IF NOT EXISTS memories_fts_insert AFTER INSERT ON memories_memory BEGIN
    INSERT INTO memories_fts (rowid, content, context, filter, forms)
    VALUES (new.key, new.content, new.context, new.filter, new.forms);
END;

-- name: memories_fts_delete
CREATE TRIGGER IF NOT EXISTS memories_fts_delete AFTER DELETE ON memories_memory BEGIN
    INSERT INTO memories_fts (memories_fts, rowid, content, context, filter, forms)
    VALUES ('delete', old.key, old.content, old.context, old.filter, old.forms);
END;

-- name: memories_fts_update_drop
DROP TRIGGER IF EXISTS memories_fts_update;

-- name: memories_fts_update
-- Saving a row without touching its text must cost nothing here.
CREATE TRIGGER IF NOT EXISTS memories_fts_update AFTER UPDATE OF content, context, filter, forms ON memories_memory
WHEN old.content IS NOT new.content OR old.context IS NOT new.context OR old.filter IS NOT new.filter
  OR old.forms IS NOT new.forms
BEGIN
    INSERT INTO memories_fts (memories_fts, rowid, content, context, filter, forms)
    VALUES ('delete', old.key, old.content, old.context, old.filter, old.forms);
    INSERT INTO memories_fts (rowid, content, context, filter, forms)
    VALUES (new.key, new.content, new.context, new.filter, new.forms);
END;
