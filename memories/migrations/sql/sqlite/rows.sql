-- A memory's columns in the vector index, for its triggers and for a rebuild; {standing} comes from memories/types.py.

-- name: memories_vec_row_drop
DROP VIEW IF EXISTS memories_vec_row;

-- name: memories_vec_row
CREATE VIEW memories_vec_row AS
SELECT
    key AS memory,
    CASE scope WHEN 'global' THEN 0 ELSE group_id END AS room,
    {standing} AS standing,
    MIN(
        COALESCE(CAST(ROUND((julianday(expires_at) - 2440587.5) * 86400000) AS INTEGER), 9007199254740992),
        CASE WHEN type = 'episodic' THEN 9007199254740992
        ELSE COALESCE(CAST(ROUND((julianday(valid_to) - 2440587.5) * 86400000) AS INTEGER), 9007199254740992) END
    ) AS until,
    type
FROM memories_memory;
