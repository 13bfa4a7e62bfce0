"""Bulk inserts and updates: many rows in one statement."""
