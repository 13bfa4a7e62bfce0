"""Recall, stores and imports on SQLite and PostgreSQL in one run: `python -m bench.speed.databases`."""
