"""Runs of maintenance as people read them: lists, changes and wording."""
