-- The words of a text as FTS5's tokenizer "porter unicode61" has them.

-- name: search_porter
DO $$ BEGIN
    CREATE TEXT SEARCH DICTIONARY search_porter (TEMPLATE = snowball, LANGUAGE = porter);
EXCEPTION WHEN unique_violation OR duplicate_object THEN NULL;
END $$;

-- name: search_stem_ascii
-- FTS5 leaves words of fewer than three bytes and of more than 64 as they are, and has two rules of Porter's later ones:
-- logi becomes log, and bli becomes ble, after a syllable. A lexeme has at most 2 kB.
CREATE OR REPLACE FUNCTION search_stem_ascii(word text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE
    WHEN length(word) < 3 OR length(word) > 64 THEN left(word, 400)
    WHEN right(word, 1) IN ('y', 'i', 'e', 's') AND word ~ '[aeiouy][^aeiouy].*(?:log|bl)(?:y|ie|ies|i)$' THEN
        (ts_lexize('search_porter', regexp_replace(regexp_replace(word, 'log(?:y|ie|ies|i)$', 'log'), 'bl(?:y|ie|ies|i)$', 'ble')))[1]
    ELSE (ts_lexize('search_porter', word))[1]
END;

-- name: search_stem
-- FTS5 stems bytes, and takes those of other letters for consonants: here consonants that no ending has stand for them.
CREATE OR REPLACE FUNCTION search_stem(word text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE
    WHEN octet_length(word) = length(word) THEN search_stem_ascii(word)
    WHEN octet_length(word) > 64 THEN left(word, 400)
    ELSE (
        SELECT beginning || substr(search_stem_ascii(masked || substr(word, length(beginning) + 1)), length(masked) + 1)
        FROM (SELECT substring(word FROM '^.*[^\x01-\x7f]') AS beginning) AS parted,
        LATERAL (SELECT regexp_replace(regexp_replace(regexp_replace(
            beginning, '[\u0080-\u07ff]', 'qj', 'g'), '[\u0800-\uffff]', 'qjv', 'g'), '[^\x01-\x7f]', 'qjvz', 'g') AS masked
        ) AS made
    )
END;

-- name: search_words
-- The stems of a text, in order. Most texts are ASCII, which costs a fifth.
CREATE OR REPLACE FUNCTION search_words(content text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT coalesce(array_agg(search_stem(
        CASE WHEN octet_length(word) = length(word) THEN word ELSE search_folded(word) END
    ) ORDER BY place), '{}')
    FROM string_to_table(
        CASE WHEN octet_length(content) = length(content)
        THEN translate(lower(content COLLATE "C"),
            E' !"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f',
            repeat(' ', 66))
        ELSE lower(search_spaced(content) COLLATE "C") END, ' '
    ) WITH ORDINALITY AS found (word, place)
    WHERE word <> ''
);
