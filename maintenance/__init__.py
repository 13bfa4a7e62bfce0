"""Runs and the cycle that keeps the store healthy; each run can be previewed and undone."""
