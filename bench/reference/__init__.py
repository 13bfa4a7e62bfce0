"""The reference pages in docs/reference/, generated from the code."""
