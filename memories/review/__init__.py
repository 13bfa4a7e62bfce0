"""The review queue and the decisions taken in it."""
