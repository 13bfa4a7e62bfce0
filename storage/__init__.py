"""Fast row access per database; knows nothing of the domain."""
