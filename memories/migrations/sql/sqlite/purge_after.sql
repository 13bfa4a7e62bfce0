-- Run after a purge is committed, outside any transaction.

-- name: empty_wal
-- The WAL holds the pages as they were written before; TRUNCATE waits for readers and leaves it empty.
PRAGMA wal_checkpoint(TRUNCATE);
