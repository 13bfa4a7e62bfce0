"""Runs of maintenance as people read them: lists and words."""
