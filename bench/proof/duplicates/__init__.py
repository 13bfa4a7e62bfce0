"""Near pairs of texts: which are one fact and which are two."""
