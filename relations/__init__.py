"""Typed relations between memories: subject –predicate→ object."""
