"""Vectors in memory, synchronised with the database."""
