"""The search engine on SQLite: FTS5 and vectors."""
