"""The search engine on PostgreSQL: lists of words in a GIN index, vectors by pgvector."""
