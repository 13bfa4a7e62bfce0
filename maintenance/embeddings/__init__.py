"""Vectors of stored memories: filling in and re-embedding."""
