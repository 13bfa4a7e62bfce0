"""Verbs of `loci store` that belong to the site."""
