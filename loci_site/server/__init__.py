"""The server process and what it needs at run time."""
