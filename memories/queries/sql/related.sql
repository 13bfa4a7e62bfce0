-- Rows related to the entities with these roots: the rows of the entities themselves (no relation), and for each relation
-- that was true at `at` as Loci knew it at `known`, the rows of both ends and of its evidence. A chain includes its versions
-- and their successors; the caller checks afterwards whether a row is visible.
WITH RECURSIVE followed (key, subject, predicate, object) AS (
    SELECT key, subject_id, predicate, object_id FROM relations_relation
    WHERE (subject_id IN (:roots) OR object_id IN (:roots)) AND (:everywhere = 1 OR group_id IN (:groups))
        AND created_at <= :known AND (retired_at IS NULL OR retired_at > :known)
        AND (valid_from IS NULL OR valid_from <= :at)
        AND (valid_to IS NULL OR valid_to > :at OR valid_to_known_at > :known)
    ORDER BY confidence DESC, key LIMIT :most
),
part (relation, role, predicate, root) AS (
    SELECT NULL, 'named', '', key FROM memories_memory WHERE key IN (:roots)
    UNION ALL SELECT key, 'subject', predicate, subject FROM followed
    UNION ALL SELECT key, 'object', predicate, object FROM followed
    UNION ALL
    SELECT followed.key, 'proof', predicate, proof.memory_id
    FROM followed JOIN relations_relationevidence AS proof ON proof.relation_id = followed.key
),
-- Both steps in one arm: PostgreSQL allows a single one that names the query itself.
way (root, key, next) AS (
    SELECT part.root, m.key, m.superseded_by_id FROM part JOIN memories_memory AS m ON m.key = part.root
    UNION
    SELECT way.root, m.key, m.superseded_by_id
    FROM way JOIN memories_memory AS m ON m.root_id = way.key OR m.key = way.next
)
SELECT part.relation, part.role, part.predicate, part.root AS of_root, m.key, m.id, m.group_id, m.scope, m.state, m.trust,
    m.type, m.content, m.confidence, m.tags, m.valid_from, m.valid_to, m.valid_to_known_at, m.created_at, m.retired_at, m.expires_at
FROM part JOIN way ON way.root = part.root JOIN memories_memory AS m ON m.key = way.key
WHERE m.state IN (:states)
ORDER BY part.relation, m.key
