-- What the search needs of the server beyond PostgreSQL itself.

-- name: vector
CREATE EXTENSION IF NOT EXISTS vector;
