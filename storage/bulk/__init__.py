"""Many rows in one statement: inserts and updates."""
