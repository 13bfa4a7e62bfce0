"""Verbs of `loci store` and `loci model` that maintenance carries out."""
