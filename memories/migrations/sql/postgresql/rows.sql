-- A memory's columns in the vector index, for its triggers and for a rebuild; {standing} comes from memories/types.py.

-- name: memories_vec_row
CREATE OR REPLACE VIEW memories_vec_row AS
SELECT
    key AS memory,
    CASE scope WHEN 'global' THEN 0 ELSE group_id END AS room,
    {standing} AS standing,
    LEAST(
        COALESCE(ROUND(EXTRACT(epoch FROM expires_at) * 1000)::bigint, 9007199254740992),
        CASE WHEN type = 'episodic' THEN 9007199254740992
        ELSE COALESCE(ROUND(EXTRACT(epoch FROM valid_to) * 1000)::bigint, 9007199254740992) END
    ) AS until,
    type
FROM memories_memory;
