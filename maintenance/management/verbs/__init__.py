"""Verbs of `loci store` that maintenance carries out."""
