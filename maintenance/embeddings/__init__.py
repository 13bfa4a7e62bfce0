"""Vectors of stored memories: backfill of missing ones, and re-embedding with another model."""
