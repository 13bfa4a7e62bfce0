"""A sample team in a home of its own, to look at every page; `loci demo` fills, runs and removes it."""
