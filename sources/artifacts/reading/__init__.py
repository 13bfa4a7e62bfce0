"""Chooses the files to read and turns their bytes into lines. No database."""
