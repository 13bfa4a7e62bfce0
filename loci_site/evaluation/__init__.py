"""Measuring recall on data sets."""
