"""How times are written; Django finds the file by its name."""
