-- ANALYZE keeps samples of a column in pg_statistic, where a purged text would survive a rewrite of its table. No query
-- needs them of columns that hold texts.

-- name: no_samples_of_texts
DO $$
DECLARE found record;
BEGIN
    FOR found IN
        SELECT held.relname, kept.attname FROM pg_attribute AS kept JOIN pg_class AS held ON held.oid = kept.attrelid
        WHERE held.relkind IN ('r', 'p') AND held.relnamespace = current_schema()::regnamespace AND kept.attnum > 0
            AND NOT kept.attisdropped AND COALESCE(kept.attstattarget, -1) <> 0
            AND kept.atttypid IN ('text'::regtype, 'jsonb'::regtype, 'tsvector'::regtype)
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', found.relname, found.attname);
    END LOOP;
END $$;
