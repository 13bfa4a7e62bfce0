"""Curators at work on hundreds of cards in a large store."""
