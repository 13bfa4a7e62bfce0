"""The verbs of `loci memory` that read, and those of sessions."""
