-- Run on a connection before it purges.

-- name: secure_delete
-- SQLite leaves deleted rows in a page's free space until something else needs it; this writes zeros over them.
PRAGMA secure_delete = ON;
