"""Times in texts: how they are written, the days that are meant, and those that a stored text names."""
