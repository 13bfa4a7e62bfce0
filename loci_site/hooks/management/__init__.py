"""Commands of the hooks."""
