"""Ties between memories that have a meaning: subject –predicate→ object."""
