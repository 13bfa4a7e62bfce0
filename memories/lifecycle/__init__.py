"""State changes of a stored memory."""
