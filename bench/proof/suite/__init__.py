"""Proofs that run files of the test suite at full size."""
