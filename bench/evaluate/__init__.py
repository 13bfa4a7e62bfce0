"""Evaluation: measures recall on data sets with known answers."""
