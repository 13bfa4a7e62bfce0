"""The heart: memories, how they are written and how they are recalled."""
