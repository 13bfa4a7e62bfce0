"""Lists, details, history and statistics for people."""
