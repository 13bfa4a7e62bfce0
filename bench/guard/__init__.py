"""What the guard finds in lists that its rules were not made from, and what it costs a store."""
