"""Which files are read and how their bytes become lines. Nothing here knows a database."""
