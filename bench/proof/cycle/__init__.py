"""A simulated year of maintenance cycles, and cycles that are killed."""
