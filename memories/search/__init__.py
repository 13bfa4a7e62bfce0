"""The search indexes: one interface, one engine per database."""
