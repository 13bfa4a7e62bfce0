-- What the search needs of the server beyond PostgreSQL itself.

-- name: vector
CREATE EXTENSION IF NOT EXISTS vector;

-- name: versions
DO $$ BEGIN
    IF current_setting('server_version_num')::integer < 150000 OR (
        SELECT string_to_array(extversion, '.')::integer[] < '{0,8}' FROM pg_extension WHERE extname = 'vector'
    ) THEN
        RAISE EXCEPTION 'Loci needs PostgreSQL 15 or newer with pgvector 0.8 or newer. Update the server, or unset DATABASE_URL.';
    END IF;
END $$;
