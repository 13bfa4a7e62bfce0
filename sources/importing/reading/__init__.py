"""How importers read foreign files: JSON in a stream, folders and zips, databases of others, single values."""
